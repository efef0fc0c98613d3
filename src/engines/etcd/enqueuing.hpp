#pragma once

#include "core/engine.hpp"
#include "engines/etcd/store.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::engines::etcd {

/// One enqueue. A name that nobody is in the way of is granted in one round trip, which else tells
/// who is. The second one makes the entry behind them, whoever has come meanwhile, and reads their
/// sessions as they are in the same revision; more of them those of newcomers and of a long queue.
///
/// Where entries are in the way that may be dead (of a mode that does not agree, or of a try), it
/// looks first, and makes the entry on condition that nobody has come since: who is dead stays so.
///
/// Thread safety: the loop's thread only. It keeps itself alive until it has answered.
class enqueuing : public std::enable_shared_from_this<enqueuing> {
 public:
  enqueuing(std::shared_ptr<store> s, core::enqueue_request r, core::on<core::queue_view> done);
  void start();

 private:
  /// Of the first round trip: the entry was made as nobody was in the way, or it tells who is.
  void took(const txn_result& r);
  /// Nothing was made. The reply has our session, the epoch record and the queue.
  void took_refused(const wire::etcd::txn_reply& reply);
  bool may_wait() const;
  /// Makes it behind the others. Which of them live is read in the same transaction.
  void enter();
  /// Of enter(). It may have made nothing: somebody came who does not agree with it.
  void took_place(const txn_result& r);
  /// The entry is there, and the queue is read as it was in that revision.
  void look_again();
  /// Of those whose sessions enter() has not read.
  void look_at_sessions();
  /// Everything of `revision_` is there.
  void decide(const session_table& sessions);
  /// It is there: granted or queued. Where there are too many it is removed again.
  void decide_entered(const session_table& sessions);
  /// It is not there, or an earlier try of the same request has made it.
  void decide_absent(const session_table& sessions);
  /// Only if nobody has come since `revision_`; else it looks once more.
  void append(std::vector<core::entry> live, const session_table& sessions);
  void undo();

  void grant(token mine);
  void answer(core::queue_view v);
  /// With the gate, which a refusal for an earlier one needs.
  void refuse(core::reply why);
  /// Whatever refused it: it may be there all the same when a server has run out of space.
  void not_made(const txn_result& r);
  /// Zero when it does not fit.
  token order_in(std::int64_t revision) const;
  std::string own_key() const;

  const std::shared_ptr<store> store_;
  const core::enqueue_request request_;
  core::on<core::queue_view> done_;
  unsigned rounds_{};
  bool entered_{};  ///< The entry is there, as `mine_`.
  token mine_{};
  std::uint64_t gate_{};  ///< The record's, when the entry is not there.
  entry_table entries_;   ///< Of the queue, as they were in `revision_`.
  std::int64_t revision_{};
  std::vector<session_id> asked_;  ///< Whose sessions enter() reads; sorted.
  session_table sessions_;         ///< They, as they were in `revision_`.
};

}  // namespace holdfast::engines::etcd
