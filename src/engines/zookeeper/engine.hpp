#pragma once

#include "core/engine.hpp"
#include "engines/zookeeper/store.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace holdfast::engines::zookeeper {

/// The operations of the port on a ZooKeeper ensemble; docs/zookeeper.md has the nodes and the
/// requests.
///
/// All answers come on the loop's thread. No session and no ephemeral node of ZooKeeper takes part
/// in anything, and nothing but the removal of a record at its very version ends a session for
/// somebody else.
class zookeeper_engine final : public core::engine {
 public:
  explicit zookeeper_engine(std::shared_ptr<ensemble> e)
      : store_(std::make_shared<store>(std::move(e))) {}
  ~zookeeper_engine() override { servers()->close(); }

  const std::shared_ptr<ensemble>& servers() const noexcept { return store_->shared_servers(); }

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
  void list(core::on<core::listing> done) override;
  void glance(const core::glance_request& r, core::on<core::glance_reply> done) override;
  std::string trouble() const override { return servers()->trouble_text(); }

 private:
  io::loop& loop() const noexcept { return *servers()->shared_loop(); }

  const std::shared_ptr<store> store_;
  std::atomic<std::uint64_t> last_watch_{};
};

}  // namespace holdfast::engines::zookeeper
