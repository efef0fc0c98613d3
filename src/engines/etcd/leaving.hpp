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
  void find();
  void erase(const std::string& key);
  void by_request();
  void took_permits(const wire::etcd::txn_reply& reply);
  void answer(const txn_result& r, const std::string& key);
  void conclude(const wire::etcd::txn_reply& reply);
  void accept(std::uint64_t gate = 0);
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
