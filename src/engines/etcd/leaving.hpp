#pragma once

#include "core/engine.hpp"
#include "engines/etcd/store.hpp"

#include <memory>
#include <string>

namespace holdfast::engines::etcd {

/// One leave: of an entry whose place is known in one round trip, of another in two.
///
/// Thread safety: the loop's thread only. It keeps itself alive until it has answered.
class leaving : public std::enable_shared_from_this<leaving> {
 public:
  leaving(std::shared_ptr<store> s, core::leave_request r, core::on<core::leave_reply> done)
      : store_(std::move(s)), request_(std::move(r)), done_(std::move(done)) {}
  void start();

 private:
  /// Where the entry is, when this client did not make it or has forgotten.
  void find();
  /// And moves the gate, if that was asked for. A key of somebody else is left alone.
  void erase(const std::string& key);
  /// The order is not known: its enqueue had no answer.
  void by_request();
  /// The session lives; entries of permits with this request are still to be deleted.
  void took_permits(const wire::etcd::txn_reply& reply);
  void answer(const txn_result& r, const std::string& key);
  /// Where the gate was moved: the session is gone, or the reply ends with the gate.
  void conclude(const wire::etcd::txn_reply& reply);
  void accept(std::uint64_t gate = 0);
  /// The session is, and its entries are dead with it.
  void gone();
  void refuse(core::reply why);

  const std::shared_ptr<store> store_;
  const core::leave_request request_;
  core::on<core::leave_reply> done_;
};

/// One confirm: a second round trip only while somebody is ahead who may be dead.
///
/// Thread safety: as leaving.
class confirming : public std::enable_shared_from_this<confirming> {
 public:
  confirming(std::shared_ptr<store> s, core::confirm_request r, core::on<core::queue_view> done)
      : store_(std::move(s)), request_(std::move(r)), done_(std::move(done)) {}
  void start();

 private:
  void took(const txn_result& r);
  /// Of all who are in the queue.
  void look_at_sessions();
  void refuse(core::reply why);

  const std::shared_ptr<store> store_;
  const core::confirm_request request_;
  core::on<core::queue_view> done_;
  entry_table entries_;
  token mine_{};
  std::int64_t revision_{};
};

}  // namespace holdfast::engines::etcd
