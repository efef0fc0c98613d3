#pragma once

#include "core/engine.hpp"
#include "engines/etcd/store.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::engines::etcd {

/// One list: everything as it was in one revision, however many pages that takes. A small store is
/// one round trip.
///
/// Thread safety: the loop's thread only. It keeps itself alive until it has answered.
class listing : public std::enable_shared_from_this<listing> {
 public:
  listing(std::shared_ptr<store> s, core::on<core::listing> done)
      : store_(std::move(s)), done_(std::move(done)) {}
  void start();

 private:
  /// The next page of what has not all come.
  void ask();
  void took(const txn_result& r);
  /// All pages are there.
  void conclude();
  void refuse(core::reply why);

  const std::shared_ptr<store> store_;
  core::on<core::listing> done_;
  unsigned tries_{};
  std::int64_t revision_{};                     ///< Zero before the first answer.
  std::optional<std::string> sessions_from_{};  ///< Where the next page begins; nothing: all came.
  std::optional<std::string> entries_from_{};
  session_table sessions_;
  entry_table entries_;
};

}  // namespace holdfast::engines::etcd
