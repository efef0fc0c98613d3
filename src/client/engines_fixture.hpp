#pragma once

#include "client/store_core.hpp"
#include "core/engine.hpp"
#include "core/store_url.hpp"
#include "engines/memory/open.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace holdfast::client::testing {

/// Passes every operation on, and lets a test stand in the way of any of them.
class wrapped_engine : public core::engine {
 public:
  explicit wrapped_engine(std::shared_ptr<core::engine> to) : to_(std::move(to)) {}

  void open(const core::open_request& r, core::on<core::open_reply> d) override {
    to_->open(r, std::move(d));
  }
  void beat(const core::beat_request& r, core::on<core::beat_reply> d) override {
    if (before_beat) before_beat();
    if (drop_beats) {
      core::beat_reply none;
      none.what = core::status::unavailable;
      none.text = beats_fail_with;
      return d(none);
    }
    to_->beat(r, std::move(d));
  }
  void close(const core::close_request& r, core::on<core::reply> d) override {
    to_->close(r, std::move(d));
  }
  void enqueue(const core::enqueue_request& r, core::on<core::queue_view> d) override {
    if (lose_enqueues.exchange(false)) {
      // Applied, but the answer got lost.
      return to_->enqueue(r, [d](core::queue_view) {
        core::queue_view unknown;
        unknown.what = core::status::unknown;
        d(unknown);
      });
    }
    to_->enqueue(r, std::move(d));
  }
  void leave(const core::leave_request& r, core::on<core::leave_reply> d) override {
    if (before_leave) before_leave();
    if (fail_leaves.load() > 0) {
      --fail_leaves;
      core::leave_reply none;
      none.what = core::status::unavailable;
      return d(none);
    }
    to_->leave(r, std::move(d));
  }
  void confirm(const core::confirm_request& r, core::on<core::queue_view> d) override {
    if (before_failed_confirm) {
      before_failed_confirm();
      core::queue_view none;
      none.what = core::status::unavailable;
      return d(none);
    }
    to_->confirm(r, std::move(d));
  }
  void take(const core::take_request& r, core::on<core::take_reply> d) override {
    to_->take(r, std::move(d));
  }
  void deny(const core::deny_request& r, core::on<core::deny_reply> d) override {
    to_->deny(r, std::move(d));
  }
  std::unique_ptr<core::watch_handle> watch(const core::watch_request& r,
                                            std::function<void()> n) override {
    return to_->watch(r, std::move(n));
  }
  void list(core::on<core::listing> d) override {
    ++listings;
    if (before_listing) before_listing();
    to_->list([d = std::move(d), n = needed](core::listing l) {
      l.needed = n;
      d(std::move(l));
    });
  }
  void glance(const core::glance_request& r, core::on<core::glance_reply> d) override {
    ++glances;
    to_->glance(r, std::move(d));
  }
  void forget(const session_id& id, const core::reply& why) override {
    ++forgotten;
    to_->forget(id, why);
  }
  bool keeps_dead() const noexcept override { return has_dead; }
  std::string trouble() const override { return has_trouble; }

  std::function<void()> before_beat;
  std::function<void()> before_failed_confirm;  ///< Where it is set, all of them fail.
  std::function<void()> before_leave;
  std::function<void()> before_listing;
  std::optional<duration> needed;  ///< What a listing says.
  std::string beats_fail_with;     ///< Like the next one: set before there is a session.
  std::string has_trouble;
  bool has_dead{};
  std::atomic<int> glances{};
  std::atomic<int> listings{};
  std::atomic<int> forgotten{};
  std::atomic<bool> drop_beats{};
  std::atomic<bool> lose_enqueues{};
  std::atomic<int> fail_leaves{};

 private:
  std::shared_ptr<core::engine> to_;
};

/// Answers every operation of another engine on a thread of its own, as an engine with a network
/// does.
class remote_engine final : public core::engine {
 public:
  explicit remote_engine(std::shared_ptr<core::engine> to)
      : to_(std::move(to)), thread_([this] { run(); }) {}
  ~remote_engine() override {
    {
      const std::lock_guard hold(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  void open(const core::open_request& r, core::on<core::open_reply> d) override {
    later([this, r, d] { to_->open(r, d); });
  }
  void beat(const core::beat_request& r, core::on<core::beat_reply> d) override {
    later([this, r, d] { to_->beat(r, d); });
  }
  void close(const core::close_request& r, core::on<core::reply> d) override {
    later([this, r, d] { to_->close(r, d); });
  }
  void enqueue(const core::enqueue_request& r, core::on<core::queue_view> d) override {
    later([this, r, d] { to_->enqueue(r, d); });
  }
  void leave(const core::leave_request& r, core::on<core::leave_reply> d) override {
    later([this, r, d] { to_->leave(r, d); });
  }
  void confirm(const core::confirm_request& r, core::on<core::queue_view> d) override {
    later([this, r, d] { to_->confirm(r, d); });
  }
  void take(const core::take_request& r, core::on<core::take_reply> d) override {
    later([this, r, d] { to_->take(r, d); });
  }
  void deny(const core::deny_request& r, core::on<core::deny_reply> d) override {
    later([this, r, d] { to_->deny(r, d); });
  }
  std::unique_ptr<core::watch_handle> watch(const core::watch_request& r,
                                            std::function<void()> n) override {
    return to_->watch(r, std::move(n));
  }
  void list(core::on<core::listing> d) override {
    later([this, d] { to_->list(d); });
  }
  void glance(const core::glance_request& r, core::on<core::glance_reply> d) override {
    later([this, r, d] { to_->glance(r, d); });
  }

 private:
  void later(std::function<void()> f) {
    {
      const std::lock_guard hold(mutex_);
      work_.push_back(std::move(f));
    }
    wake_.notify_one();
  }
  void run() {
    std::unique_lock hold(mutex_);
    for (;;) {
      wake_.wait(hold, [this] { return stopping_ || !work_.empty(); });
      if (work_.empty()) return;
      const auto next = std::move(work_.front());
      work_.pop_front();
      hold.unlock();
      next();
      hold.lock();
    }
  }

  std::shared_ptr<core::engine> to_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> work_;
  bool stopping_{};
  std::thread thread_;
};

inline engines::opened_store memory(const std::string& name) {
  return std::move(*engines::memory::open_memory(*core::store_url::parse("memory:" + name)));
}

}  // namespace holdfast::client::testing
