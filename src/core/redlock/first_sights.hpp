#pragma once

#include <holdfast/clock.hpp>

#include <map>
#include <optional>
#include <string>

namespace holdfast::core::redlock {

/// When this host first saw each life of a node's data that may have lost locks. Pure.
///
/// A life is named by the nonce that was written when the loss was seen (with tokens off by the
/// run_id): a name is never used for a second loss, so an old sight can never shorten a new wait.
/// With tokens off it is also noted which process each node was, and whether that one synced every
/// write: nothing else tells whether a server that says so now has all that was granted there.
///
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
  /// With tokens off: since when the process `run_id` of `node` has what it may have granted. One
  /// that syncs every write, and follows one that did when it was seen last, is as old as that one.
  time_point note_process(const std::string& node, const std::string& run_id, bool durable,
                          time_point now);
  /// Whether that process is the one that was seen last, and synced every write.
  bool is_durable(const std::string& node, const std::string& run_id) const;
  void forget(const std::string& life) { seen_.erase(life); }
  /// Forgets everything that was first seen before `then`: its wait is long over.
  void forget_before(time_point then);

  const std::map<std::string, time_point>& all() const noexcept { return seen_; }

 private:
  struct process {
    std::string run_id{};
    bool durable{};
    friend bool operator==(const process&, const process&) = default;
  };
  static std::string word_of(const std::string& node, const process& p);
  std::optional<process> process_at(const std::string& node) const;

  std::map<std::string, time_point> seen_;
};

}  // namespace holdfast::core::redlock
