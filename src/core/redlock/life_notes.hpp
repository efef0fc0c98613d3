#pragma once

#include <holdfast/clock.hpp>

#include <cstddef>
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
/// the boot id changes. Several processes of the user do so at once: see merge().
///
/// Thread safety: none; one owner.
class life_notes {
 public:
  /// Far more than the nodes of a store lose in one max_ttl.
  static constexpr std::size_t notes_max = 256;

  /// What a node was when it was seen last.
  struct process {
    std::string run_id{};
    bool durable{};
    /// Its first sight is that of a process before it, of which nothing was lost since.
    bool follows{};
    bool replaces{};  ///< Another one was seen there before.
    friend bool operator==(const process&, const process&) = default;
  };

  /// The first time `life` was seen; `now` when it is new.
  time_point note(const std::string& life, time_point now);
  /// Takes over a note of an earlier process of this boot. The earlier of two counts.
  void recall(const std::string& life, time_point since);
  void recall(const life_notes& sights);
  /// With tokens off: since when the process `run_id` of `node` has what it may have granted. One
  /// that syncs every write, and follows one that did when it was seen last, is as old as that one.
  time_point note_process(const std::string& node, const std::string& run_id, bool durable,
                          time_point now);
  /// Whether that process is the one that was seen last, and synced every write.
  bool is_durable(const std::string& node, const std::string& run_id) const;
  std::optional<process> process_at(const std::string& node) const;
  /// Of each life a moment at which it was there, whatever is known of others: what is true for
  /// every client of this process, also without the notes that the user shares.
  life_notes sights() const;
  /// Takes over what another process of this boot has noted meanwhile. No wait that either of the
  /// two sees ends sooner for it, but that of a life or process that the other saw earlier.
  void merge(const life_notes& other);
  /// Takes the notes of one process into those that all share. A note of a node that these have
  /// none of says when its process was first seen, and nothing of what was synced there: there may
  /// have been another one, seen by who could not keep it or whose note is gone, and this process
  /// missed it. Who looks again after `now` knows.
  void add(const life_notes& notes, time_point now);
  /// For the same reason no process here follows another where `shared` has nothing of its node.
  void follow_only(const life_notes& shared);
  /// Whether they say of a node that all was synced there, and `other`, which knows more, does not
  /// say so of the same process.
  bool overstate(const life_notes& other) const;
  void forget(const std::string& life) { seen_.erase(life); }
  /// Forgets everything that was first seen before `then`: its wait is long over.
  void forget_before(time_point then);
  /// Forgets the oldest when there are more; what nodes were is forgotten last.
  void keep_newest(std::size_t most);

  const std::map<std::string, time_point>& all() const noexcept { return seen_; }
  friend bool operator==(const life_notes&, const life_notes&) = default;

 private:
  /// One node's note with the sight that belongs to it.
  struct noted {
    process is{};
    time_point at{};
    time_point since{};
  };
  static std::string word_of(const std::string& node, const process& p);
  void believe_less(const std::string& node, const noted& what, const process& is, time_point at);
  static noted safer_of(const noted& a, const noted& b);
  std::map<std::string, noted> nodes() const;

  std::map<std::string, time_point> seen_;
};

}  // namespace holdfast::core::redlock
