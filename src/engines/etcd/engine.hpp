#pragma once

#include "core/engine.hpp"
#include "engines/etcd/store.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace holdfast::engines::etcd {

/// The operations of the port on an etcd cluster; docs/etcd.md has the keys and the transactions.
///
/// All answers come on the loop's thread. Every read is linearizable, no lease is used, and nothing
/// but a compare-and-delete of a record's very version ends a session for somebody else.
class etcd_engine final : public core::engine {
 public:
  explicit etcd_engine(std::shared_ptr<cluster> c)
      : store_(std::make_shared<store>(std::move(c))) {}
  ~etcd_engine() override { servers()->close(); }

  const std::shared_ptr<cluster>& servers() const noexcept { return store_->shared_servers(); }

  void open(const core::open_request& r, core::on<core::open_reply> done) override;
  void beat(const core::beat_request& r, core::on<core::beat_reply> done) override;
  void close(const core::close_request& r, core::on<core::reply> done) override;
  void forget(const session_id& id, const core::reply& why) override;
  void enqueue(const core::enqueue_request& r, core::on<core::queue_view> done) override;
  void leave(const core::leave_request& r, core::on<core::leave_reply> done) override;
  void confirm(const core::confirm_request& r, core::on<core::queue_view> done) override;
  void take(const core::take_request& r, core::on<core::take_reply> done) override;
  void deny(const core::deny_request& r, core::on<core::deny_reply> done) override;
  std::unique_ptr<core::watch_handle> watch(const core::watch_request& r,
                                            std::function<void()> notify) override;
  std::string trouble() const override { return servers()->trouble_text(); }
  bool lend(core::parking& until) override;
  void list(core::on<core::listing> done) override;
  void glance(const core::glance_request& r, core::on<core::glance_reply> done) override;
  bool keeps_dead() const noexcept override { return true; }

 private:
  io::loop& loop() const noexcept { return *servers()->shared_loop(); }

  const std::shared_ptr<store> store_;
  std::atomic<std::uint64_t> last_watch_{};
};

}  // namespace holdfast::engines::etcd
