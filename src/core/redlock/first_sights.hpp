#pragma once

#include <holdfast/clock.hpp>

#include <map>
#include <string>

namespace holdfast::core::redlock {

/// When this host first saw each life of a node's data that may have lost locks. Pure.
///
/// A life is named by the nonce that was written when the loss was seen (with tokens off by the
/// run_id): a name is never used for a second loss, so an old sight can never shorten a new wait.
/// The owner keeps the notes with the boot id in the user's state directory, and drops them when
/// the boot id changes.
///
/// Thread safety: none; one owner.
class first_sights {
 public:
  /// The first time `life` was seen; `now` when it is new.
  time_point note(const std::string& life, time_point now);
  /// Takes over a note of an earlier process of this boot. The earlier of two counts.
  void recall(const std::string& life, time_point since);
  void forget(const std::string& life) { seen_.erase(life); }
  /// Forgets everything that was first seen before `then`: its wait is long over.
  void forget_before(time_point then);

  const std::map<std::string, time_point>& all() const noexcept { return seen_; }

 private:
  std::map<std::string, time_point> seen_;
};

}  // namespace holdfast::core::redlock
