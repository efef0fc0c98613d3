#pragma once

#include "core/ledger.hpp"
#include "core/store_id.hpp"
#include "engines/memory/watcher.hpp"
#include "io/thread/loop.hpp"
#include "io/thread/mutex.hpp"
#include "io/thread/random.hpp"

#include <memory>
#include <vector>

namespace holdfast::engines::memory {

/// The ledger behind a mutex: for tests, and for the threads of one process.
///
/// Callbacks run on the calling thread before the call returns, and so do the notifications of the
/// watches that the call set off; both outside the mutex. Only a watch whose target was gone when
/// it was armed is notified from a thread of the engine.
///
/// What it does **not** promise: to survive its process, or to be seen by another.
class memory_engine final : public core::engine,
                            public std::enable_shared_from_this<memory_engine> {
 public:
  /// Random, for another store of this name may follow.
  const core::store_id& identity() const noexcept { return identity_; }

  void open(const core::open_request& r, core::on<core::open_reply> done) override;
  void beat(const core::beat_request& r, core::on<core::beat_reply> done) override;
  void close(const core::close_request& r, core::on<core::reply> done) override;
  void enqueue(const core::enqueue_request& r, core::on<core::queue_view> done) override;
  void leave(const core::leave_request& r, core::on<core::leave_reply> done) override;
  void confirm(const core::confirm_request& r, core::on<core::queue_view> done) override;
  void take(const core::take_request& r, core::on<core::take_reply> done) override;
  void deny(const core::deny_request& r, core::on<core::deny_reply> done) override;
  std::unique_ptr<core::watch_handle> watch(const core::watch_request& r,
                                            std::function<void()> notify) override;
  void list(core::on<core::listing> done) override;
  void glance(const core::glance_request& r, core::on<core::glance_reply> done) override;

 private:
  friend class armed;
  using watchers = std::vector<std::shared_ptr<watcher>>;

  /// One atomic step, its reply, then whoever watched what the step removed.
  template <class Reply, class Step>
  void run(const core::on<Reply>& done, Step step) HOLDFAST_EXCLUDES(mutex_);
  watchers hit_by_last_step() HOLDFAST_REQUIRES(mutex_);
  void forget(const std::shared_ptr<watcher>& w) HOLDFAST_EXCLUDES(mutex_);
  void fire_later(std::shared_ptr<watcher> w) HOLDFAST_REQUIRES(mutex_);

  const core::store_id identity_{io::random_session_id()};
  io::mutex mutex_;
  core::ledger ledger_ HOLDFAST_GUARDED_BY(mutex_);
  /// The ledger's revision when watches were looked at last.
  std::uint64_t looked_at_ HOLDFAST_GUARDED_BY(mutex_){};
  watchers armed_ HOLDFAST_GUARDED_BY(mutex_);
  std::shared_ptr<io::loop> loop_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::engines::memory
