#pragma once

#include "core/engine.hpp"
#include "engines/redis/master.hpp"
#include "engines/redis/window.hpp"
#include "io/thread/mutex.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::engines::redis {

/// One Redis master: every operation is one Lua script and one round trip, a long listing several,
/// and no timer of the server takes part.
///
/// Answers and notifications come on the loop's thread, but for a confirm that a message has
/// answered already: on the caller's.
///
/// Thread safety: as the port says.
class redis_engine final : public core::engine, public std::enable_shared_from_this<redis_engine> {
 public:
  explicit redis_engine(std::shared_ptr<master> m) : master_(std::move(m)) {}
  /// Gives what is queued a moment to leave, so that a program that ends releases what it held.
  ~redis_engine() override;

  void open(const core::open_request& r, core::on<core::open_reply> done) override;
  void beat(const core::beat_request& r, core::on<core::beat_reply> done) override;
  void close(const core::close_request& r, core::on<core::reply> done) override;
  void forget(const session_id& id, const core::reply&) override {
    master_->box()->forget_all_of(id);
  }
  void enqueue(const core::enqueue_request& r, core::on<core::queue_view> done) override;
  void leave(const core::leave_request& r, core::on<core::leave_reply> done) override;
  void confirm(const core::confirm_request& r, core::on<core::queue_view> done) override;
  void take(const core::take_request& r, core::on<core::take_reply> done) override;
  void deny(const core::deny_request& r, core::on<core::deny_reply> done) override;
  std::string trouble() const override { return master_->trouble(); }
  bool lend(core::parking& until) override { return master_->shared_loop()->lend(until); }
  std::unique_ptr<core::watch_handle> watch(const core::watch_request& r,
                                            std::function<void()> notify) override;
  void list(core::on<core::listing> done) override;
  void glance(const core::glance_request& r, core::on<core::glance_reply> done) override;
  bool keeps_dead() const noexcept override { return true; }

  const std::shared_ptr<master>& server() const noexcept { return master_; }

 private:
  /// Runs a script and has `read` make a reply of what the server answered; clears away what it
  /// left.
  template <class R, class Read>
  void ask(master::maker make, master::copies its, master::room in, Read read, core::on<R> done);

  /// The same for a script that lists who is ahead: as many at once as the window lets.
  template <class Read>
  void ask_who_is_ahead(master::maker make, Read read, core::on<core::queue_view> done);

  /// Of a listing with this fingerprint.
  std::uint64_t revision_of(std::uint64_t picture);

  const std::shared_ptr<master> master_;
  const std::shared_ptr<window> window_{std::make_shared<window>()};
  io::mutex mutex_;
  std::uint64_t picture_ HOLDFAST_GUARDED_BY(mutex_){};  ///< The fingerprint of the last listing.
  /// Grows when a listing differs from the one before.
  std::uint64_t revision_ HOLDFAST_GUARDED_BY(mutex_){};
};

}  // namespace holdfast::engines::redis
