#pragma once

#include "core/lease.hpp"
#include "core/redlock/node_vote.hpp"
#include "core/redlock/quorum.hpp"

#include <holdfast/error.hpp>
#include <holdfast/token.hpp>

#include <array>
#include <bitset>
#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace holdfast::core::redlock {

/// After so long without an answer the same is asked again.
constexpr duration resend_after(duration ttl) noexcept { return ttl / 6; }

/// Keeps all locks of one session alive, 100 keys a script. Pure.
///
/// A batch goes to all nodes at once, every ttl/3; when a majority has not confirmed all of it
/// after ttl/6 it is sent again, with a send time of its own. A node's script first looks whether
/// the session's record is there and not denied, then extends by compare every key that still has
/// our value, and says for each whether it did. It never re-creates one.
///
/// | a node answered for a lock | its deadline there                                     |
/// |----------------------------|--------------------------------------------------------|
/// | extended                   | max(old, sent + usable(ttl))                           |
/// | not ours any more          | none: it stops counting until it is repaired           |
/// | the session is missing     | none, for every lock that was asked                    |
/// | denied, error, or nothing  | as it was                                              |
///
/// The lock's own deadline is the majority-th largest of these, so key and session hold on the same
/// majority of nodes (a majority of each, counted apart, is unsafe). It is written to the lock's
/// lease, of which check() reads nothing but one atomic.
///
/// Few batches are under way at a time: the next one follows when a majority has answered one. All
/// that a process asks of a node goes over one connection, so behind the batches of a hundred
/// thousand locks an acquire would wait for longer than its node timeout. Whatever the nodes do,
/// every batch leaves within ttl/6 of when it was due.
///
/// The first group of locks is sent even when it is empty: that keeps the session's own records.
///
/// Repair: a node that lost a key gets it back (SET NX in a script that checks the admission and
/// lifts the counter to the token) only right after a majority confirmed the key and while its
/// deadline has not passed. It then counts for time; it was never counted for the token. A lock
/// that was granted on fewer nodes than there are is asked for soon after: a node that is only far
/// gets it then, also the session's record, and the lock outlives one of the near ones.
///
/// Thread safety: none; one owner. The leases may be read by anybody.
class renewal {
 public:
  static constexpr std::size_t batch_max = 100;
  /// Enough that a node always has another one while an answer is on its way: each takes it about
  /// half a millisecond.
  static constexpr std::size_t under_way_max = 4;

  struct config {
    std::size_t nodes{};
    duration ttl{};
    duration period{};  ///< From one sending to the next, at least ttl/6; zero: ttl/3.
  };
  /// One lock here; a stale one differs from its slot's next user.
  struct handle {
    std::uint32_t slot{};
    std::uint32_t generation{};
    friend bool operator==(const handle&, const handle&) = default;
  };
  /// Send to all nodes one script that extends these, in this order.
  struct batch {
    std::uint64_t number{};
    std::vector<handle> locks;
  };
  enum class session_there : std::uint8_t { holds, missing, denied };
  struct answer {
    session_there session{session_there::holds};
    std::bitset<batch_max> ours{};  ///< In the batch's order.
  };
  /// Send SET NX of the lock's own value to one node.
  struct repair {
    std::uint64_t number{};
    handle lock;
    node_index node{};
    token at_least{};  ///< The counter is lifted to it; zero with tokens off.
  };
  struct loss {
    handle lock;
    errc why{errc::lost};  ///< lost, or denied.
    bool used_up{};        ///< It was in its last extension.
  };
  struct step {
    std::vector<batch> send{};
    std::vector<repair> repairs{};
    node_set reopen{};         ///< Write the session's record again there, unless it is denied.
    std::vector<loss> lost{};  ///< Their leases are lost; they are not renewed any more.
    std::vector<handle> shortened{};  ///< Their leases end earlier than was said before.
    bool denied{};  ///< So many nodes deny it that no majority can serve; said once.
    time_point wake{time_point::max()};  ///< Call tick() then.
  };

  /// The session's records were sent at `opened`.
  renewal(config c, time_point opened);

  /// A granted lock, whose lease was started: it is on `there` until `until`. `extensions`: how
  /// often it may be extended.
  handle add(lease& own, node_set there, time_point until, token granted,
             std::uint32_t extensions = std::numeric_limits<std::uint32_t>::max());
  /// A late grant of its attempt: the node has it, too, until when those of add() do. Nothing that
  /// was sent to other nodes since makes it live longer there.
  void granted_late(handle h, node_index i);
  /// Its release starts, or it was lost. Afterwards the lease is not touched any more.
  void remove(handle h);

  step tick(time_point now);
  /// Everything is due now, the session's records first.
  step beat(time_point now);
  step answered(std::uint64_t number, node_index i, const answer& a, time_point now);
  step repaired(std::uint64_t number, bool done, time_point now);
  /// A node refused a lock because it has no record of the session: it was away when that was
  /// written, and the next batch may be far.
  step session_missing(node_index i);
  /// The session's record is on `i` again, or could not be written there.
  step reopened(node_index i, bool done, time_point now);

  std::size_t size() const noexcept { return live_; }
  /// Where it is known to be now.
  node_set nodes_of(handle h) const;
  /// No further extension may begin.
  bool is_used_up(handle h) const;
  /// Until when a majority of nodes keeps the session's record; time_point::min() before any
  /// answer.
  time_point session_until() const;
  time_point wake() const noexcept;

 private:
  /// For the answers that follow those of a majority. Above it, a node is late.
  static constexpr duration soonest = std::chrono::milliseconds(100);
  static constexpr time_point never = time_point::min();
  static constexpr auto no_limit = std::numeric_limits<std::uint32_t>::max();

  struct lock_state {
    lease* own{};        ///< Null: the slot is free.
    time_point said{};   ///< The lease's deadline, unless somebody lost it.
    time_point first{};  ///< What a grant of its attempt is worth.
    std::uint32_t generation{};
    std::uint32_t group{};
    std::uint32_t extensions{};  ///< How many may still begin.
    bool extending{};            ///< One began and no majority confirmed it.
    bool lacking{};              ///< False: every node of the store has it.
    token granted{};
    node_set repairing{};
  };
  struct sent_batch {
    std::uint64_t number{};
    time_point at{};
    node_set answered{};
    std::vector<handle> locks{};
    std::vector<std::uint8_t> confirmations{};
    bool confirmed{};
    bool completes{};  ///< Sent for the nodes that lack its locks.
  };
  struct group {
    std::vector<std::uint32_t> slots{};
    time_point due{time_point::max()};  ///< When it is sent again.
    /// No lease of it ends earlier. Extensions leave it where it is: to look at all leases again
    /// with each answer costs more than to look in vain now and then.
    time_point ends{time_point::max()};
    /// When it is looked whether locks of it lack nodes.
    time_point complete_at{time_point::max()};
    bool waits{};                       ///< It is due, and others are under way.
    time_point key{time_point::max()};  ///< Its place in queue_.
    std::vector<sent_batch> sent{};     ///< The newest last; a few.
  };
  /// Sent, and not answered by a majority.
  struct flight {
    std::uint64_t number{};
    time_point at{};
  };
  struct sent_repair {
    std::uint64_t number{};
    handle lock{};
    node_index node{};
    time_point at{};
  };

  // ---- renewal.cpp ----
  std::span<time_point> row(std::uint32_t slot) noexcept;
  std::span<const time_point> row(std::uint32_t slot) const noexcept;
  bool lives(handle h) const noexcept;
  std::uint32_t take_slot();
  std::uint32_t roomy_group();
  void free_slot(std::uint32_t slot);
  void send_waiting(time_point now, step& s);
  duration patience() const noexcept;
  bool may_begin(const lock_state& l, time_point now) const noexcept;
  batch send(std::uint32_t g, time_point now);
  batch send(std::uint32_t g, sent_batch b, time_point now);
  void expire(std::uint32_t g, time_point now, step& s);
  void extended(sent_batch& b, node_index i, const answer& a, time_point now, step& s);
  void confirm(sent_batch& b);
  void missing(const sent_batch& b, node_index i, time_point now, step& s);
  void deny_all(step& s);
  bool may_extend(std::uint32_t slot, time_point until, time_point now) const noexcept;
  bool is_promised(std::uint32_t slot) const noexcept;
  void protects(std::uint32_t slot, node_index i, time_point until);
  time_point newest(handle h) const;
  void apply(std::uint32_t slot, time_point now, step& s);
  duration period() const noexcept;
  time_point deadline(std::uint32_t slot) const;
  void schedule(std::uint32_t g);
  step finish(step s) const;
  void check_tables() const noexcept;

  // ---- renewal_repairs.cpp ----
  node_set lacks(std::uint32_t slot) const;
  void complete_later(std::uint32_t g, time_point sent);
  void complete(std::uint32_t g, time_point now, step& s);
  void reopen(node_index i, step& s);
  void repair_after(const sent_batch& b, std::size_t k, time_point now, step& s);

  config config_;
  std::size_t live_{};
  std::uint64_t numbers_{};
  std::vector<lock_state> locks_;
  std::vector<time_point> until_;  ///< One per lock and node; min: it does not protect there.
  std::vector<std::uint32_t> free_;
  std::vector<group> groups_;
  std::set<std::uint32_t> roomy_;  ///< Groups that take another lock.
  std::set<std::pair<time_point, std::uint32_t>> queue_;
  std::deque<std::uint32_t> waiting_;  ///< Groups that are due, in the order of sending.
  std::vector<flight> under_way_;      ///< Oldest first.
  std::vector<sent_repair> repairs_;
  std::array<time_point, nodes_max> session_until_;
  node_set silent_;     ///< Had not answered a batch when the next one of its group was sent.
  node_set denied_by_;  ///< Said so when they answered a batch last.
  node_set missing_;
  node_set reopening_;
  bool over_{};
};

}  // namespace holdfast::core::redlock
