#pragma once

#include "core/engine.hpp"
#include "engines/zookeeper/ensemble.hpp"
#include "engines/zookeeper/watches.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace holdfast::engines::zookeeper {

/// What does not change about an entry's node, and is not in its name.
struct entry_facts {
  token order{};
  wall_time since{};
};

/// A name's queue as it was when somebody last looked.
struct queue_sight {
  std::int64_t created{};
  std::int32_t version{};
  bool alone{};   ///< Nobody was there but us.
  bool shared{};  ///< Nobody was there but shared entries.
};

/// What the operations of one store share: the servers, the watches, and what is known of our own
/// sessions and entries and of what never changes, so that most operations need not look first.
///
/// Thread safety: the loop's thread only, except for its parts that say otherwise.
class store : public std::enable_shared_from_this<store> {
 public:
  explicit store(std::shared_ptr<ensemble> e)
      : servers_(std::move(e)), watches_(std::make_shared<watches>(servers_)) {
    servers_->listen(watches_);
  }

  ensemble& servers() const noexcept { return *servers_; }
  const std::shared_ptr<ensemble>& shared_servers() const noexcept { return servers_; }
  const paths& where() const noexcept { return servers_->where(); }
  const std::shared_ptr<watches>& shared_watches() const noexcept { return watches_; }

  // ---- sessions ----

  /// Its record's node is there, as it was made.
  void keep_session(const core::session_record& record);
  void forget_session(const session_id& id);
  /// Runs `then` when the session's incarnation is this one, as far as is known here, else
  /// `otherwise`. An id is never used by two programs: what is known stays true, but that the
  /// record may be gone.
  void with_session(const session_id& id, std::uint64_t inc,
                    std::function<void(const core::session_record&)> then,
                    std::function<void(core::reply)> otherwise);
  /// Why the session may not do what it asked for: asks the servers. `ok` when it may.
  void refusal(const session_id& id, std::uint64_t inc, std::function<void(core::reply)> done);

  /// True when no request of the session that was sent from here has this number or a larger one:
  /// then no entry of it can be there.
  bool is_new(const session_id& id, std::uint64_t request);

  // ---- own entries ----

  /// Our entry is there, granted or waiting.
  void keep(const session_id& id, token order, std::string path);
  /// For a waiter: the nodes whose end it waits for.
  void keep_targets(token order, std::vector<std::string> nodes);
  /// Unless it is another session's.
  void forget(const session_id& id, token order);
  /// And what they were.
  std::vector<std::string> forget_all(const session_id& id);
  /// Empty when it is not known.
  std::string path_of(token order) const;
  std::vector<std::string> targets_of(token order) const;

  // ---- everybody's ----

  const entry_facts* facts_of(const std::string& path) const;
  void keep_facts(const std::string& path, const entry_facts& facts);
  const queue_sight* sight_of(const lock_name& name) const;
  void keep_sight(const lock_name& name, const queue_sight& sight);
  void forget_sight(const lock_name& name) { sights_.erase(name); }

  /// Removes entries that are dead for good, at most sweep_max, without waiting for it.
  void sweep(std::vector<std::string> nodes);
  /// Looks for dead entries of a few names that nobody asks for; without waiting for it.
  void sweep_some();
  /// A session was opened: sweeps now and then.
  void opened();

  static constexpr std::size_t sweep_max = 100;

 private:
  /// All names; a few are looked at, behind those of the last time.
  void took_names(std::vector<std::string> names);
  /// Their entries: it is asked which owners are gone.
  void took_queues(const std::vector<std::string>& queues, const batch_result& l);

  struct own_entry {
    session_id owner{};
    std::string path{};
    std::vector<std::string> targets{};
  };
  const std::shared_ptr<ensemble> servers_;
  const std::shared_ptr<watches> watches_;
  std::map<session_id, core::session_record> sessions_;
  std::map<session_id, std::uint64_t> newest_request_;
  std::unordered_map<std::uint64_t, own_entry> own_;
  std::map<session_id, std::set<std::uint64_t>> orders_;
  std::unordered_map<std::string, entry_facts> facts_;
  std::map<lock_name, queue_sight> sights_;
  std::string sweep_behind_;  ///< The name that was looked at last.
  bool has_swept_{};
  bool sweeping_{};
  unsigned opened_{};
};

/// The record in a reply to get(): nothing when the node is not there or cannot be read.
std::optional<core::session_record> record_in(const session_id& id, const zoo_reply& r);
/// The gate in a reply about its node.
std::uint64_t gate_in(const zoo_reply& r) noexcept;
/// Why that session may not do what it asked for; `ok` when it may.
core::reply judge(const session_id& id, std::uint64_t inc, const zoo_reply& r);
core::reply damaged(const std::string& node);

}  // namespace holdfast::engines::zookeeper
