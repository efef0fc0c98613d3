#pragma once

#include "core/engine.hpp"
#include "engines/redlock/cluster.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::engines::redlock {

/// What kept nodes from answering a look, and what is said of a look that too few answered.
///
/// Thread safety: as a plain value.
class node_troubles {
 public:
  void note(const cluster& c, node_index i, core::redlock::fault why, const io::redis_answer& a);

  /// `did`: what `answered` nodes did, which were too few. Where there is a better reason it is
  /// given instead: what `verdict` says of the store.
  void explain(core::reply& into, const cluster& c, std::size_t answered, std::string_view did,
               const result<void>& verdict) const;

 private:
  node_set refusing_;  ///< Those that do not let this user look.
  std::string trouble_{};
  std::string refusal_{};
};

}  // namespace holdfast::engines::redlock
