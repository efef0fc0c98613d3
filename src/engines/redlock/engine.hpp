#pragma once

#include "core/engine.hpp"
#include "engines/redlock/cluster.hpp"
#include "engines/redlock/keeper.hpp"
#include "engines/redlock/settings.hpp"
#include "engines/redlock/shown_tokens.hpp"
#include "engines/redlock/waiters.hpp"
#include "io/thread/mutex.hpp"

#include <holdfast/store.hpp>

#include <map>
#include <memory>
#include <vector>

namespace holdfast::engines::redlock {

/// Redlock behind the port: every session is a keeper, every lock has a lease of its own.
///
/// Waiters are not queued on the nodes: `queued` has nothing ahead, and the engine contends until
/// leave(). Nothing can be taken: a dead session's keys end with their ttl.
class redlock_engine final : public core::engine,
                             public std::enable_shared_from_this<redlock_engine> {
 public:
  explicit redlock_engine(std::shared_ptr<cluster> c);
  /// Sends what releases are owed within one node timeout.
  ~redlock_engine() override;

  void open(const core::open_request& r, core::on<core::open_reply> done) override;
  void beat(const core::beat_request& r, core::on<core::beat_reply> done) override;
  void close(const core::close_request& r, core::on<core::reply> done) override;
  void forget(const session_id& id, const core::reply& why) override;
  void enqueue(const core::enqueue_request& r, core::on<core::queue_view> done) override;
  void leave(const core::leave_request& r, core::on<core::leave_reply> done) override;
  void confirm(const core::confirm_request& r, core::on<core::queue_view> done) override;
  void take(const core::take_request& r, core::on<core::take_reply> done) override;
  void deny(const core::deny_request& r, core::on<core::deny_reply> done) override;
  std::string trouble() const override;
  std::string limit_on(const core::leave_request& r) const override;
  std::unique_ptr<core::watch_handle> watch(const core::watch_request& r,
                                            std::function<void()> notify) override;
  bool lend(core::parking& until) override;
  void list(core::on<core::listing> done) override;
  void glance(const core::glance_request& r, core::on<core::glance_reply> done) override;

  const std::shared_ptr<cluster>& nodes() const noexcept { return cluster_; }

 private:
  std::shared_ptr<keeper> find(const session_id& id) const;
  std::shared_ptr<keeper> take_out(const session_id& id);

  const std::shared_ptr<cluster> cluster_;
  const std::shared_ptr<waiters> waiters_;
  const std::shared_ptr<shown_tokens> shown_;
  mutable io::mutex mutex_;
  std::map<session_id, std::shared_ptr<keeper>> sessions_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::engines::redlock
