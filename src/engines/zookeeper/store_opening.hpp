#pragma once

#include "core/engine.hpp"
#include "engines/zookeeper/paths.hpp"
#include "engines/zookeeper/requests.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::engines::zookeeper {

/// Finds the nodes that a store consists of, and makes them where they are missing: batch for batch
/// what to ask, from what was answered. Pure.
///
/// Thread safety: none; one owner.
class store_opening {
 public:
  struct step {
    enum class outcome : std::uint8_t {
      ready,    ///< The nodes are there, and of a format that is known.
      asks,     ///< `requests` are next.
      refused,  ///< This store is not to be used: `why`, and with which status.
    };
    outcome what{};
    std::vector<zoo_request> requests{};
    core::status status{core::status::ok};
    std::string why{};
  };

  explicit store_opening(const paths& where) : where_(where) {}

  /// What is asked first; a look changes nothing.
  std::vector<zoo_request> look() const;
  /// The answers to what was asked last, all of which are answers.
  step took(const std::vector<zoo_reply>& replies);

 private:
  /// `levels`: of the nodes above the store's, that many are made as well.
  std::vector<zoo_request> make(std::size_t levels) const;

  paths where_;
  std::size_t tries_{};  ///< To make them, each time with one more level of nodes above them.
};

}  // namespace holdfast::engines::zookeeper
