#pragma once

#include "core/engine.hpp"

#include <map>
#include <optional>
#include <vector>

namespace holdfast::core {

/// The reference state of an engine: the operations' meaning as one in-memory table.
///
/// The memory engine is this table behind a mutex; the simulator puts a network in front of it; the
/// conformance suite holds every other engine to the same answers. Each call is one atomic step.
///
/// Thread safety: none; one owner.
class ledger {
 public:
  /// Orders and incarnations start above `floor`.
  explicit ledger(std::uint64_t floor = 0) : last_(floor) {}

  open_reply open(const open_request& r);
  beat_reply beat(const beat_request& r);
  reply close(const close_request& r);
  queue_view enqueue(const enqueue_request& r);
  leave_reply leave(const leave_request& r);
  queue_view confirm(const confirm_request& r) const;
  take_reply take(const take_request& r);
  deny_reply deny(const deny_request& r);
  listing list() const;
  glance_reply glance(const glance_request& r) const;

  /// True while the entry is there and its session's record is too.
  bool alive(const lock_name& name, token order) const;
  /// Changes with everything that list() shows.
  std::uint64_t revision() const noexcept { return revision_; }

 private:
  using queue = std::vector<entry>;
  using queues = std::map<lock_name, queue>;

  /// Incarnations and orders are of one row. Each of them begins a revision.
  std::uint64_t next_number();
  /// Null also for another incarnation: whoever was taken over finds nothing.
  session_record* find(const session_id& id, std::uint64_t inc);
  const session_record* find(const session_id& id, std::uint64_t inc) const;
  bool is_live(const entry& e) const;
  /// In their order, with room for one more.
  std::vector<entry> live(const queue& q) const;
  queue_view view(const std::vector<entry>& entries, token mine) const;
  /// `entries`: the live ones, which are stored with it.
  queue_view append(const enqueue_request& r, std::vector<entry> entries);
  /// Its entries are dead from then on; they are removed bit by bit.
  void erase(const session_id& id);
  /// A bounded part of the queues, with each enqueue.
  void sweep_some();

  std::uint64_t last_;  ///< The newest incarnation or order.
  std::uint64_t revision_{};
  std::map<session_id, session_record> sessions_;
  queues queues_;
  std::optional<lock_name> unswept_;  ///< Dead entries may be in this queue or in a later one.
};

}  // namespace holdfast::core
