#pragma once

#include "io/thread/loop.hpp"
#include "io/thread/mutex.hpp"

#include <holdfast/clock.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace holdfast::io {

/// The one timer of an owner that has many deadlines: at the earliest moment that was asked for.
/// Its task looks what is due by then, and asks for the next one. A member of that owner.
///
/// Whoever adds a deadline asks afterwards: the task either sees what was added or is followed by
/// what was asked for.
///
/// Thread safety: every function, from any thread; the task runs on the loop's.
class earliest_timer {
 public:
  explicit earliest_timer(std::weak_ptr<loop> l) noexcept : loop_(std::move(l)) {}
  earliest_timer(const earliest_timer&) = delete;
  earliest_timer& operator=(const earliest_timer&) = delete;

  /// Runs `task` once, at `when` or before, unless the owner is gone by then. One load for nearly
  /// all: deadlines grow.
  template <class Owner>
  void no_later_than(time_point when, Owner& owner, void (Owner::*task)()) {
    if (when >= at_.load(std::memory_order_relaxed)) return;
    set(when, [self = owner.weak_from_this(), this, task] {
      const auto o = self.lock();
      if (!o) return;
      fire();
      (o.get()->*task)();
    });
  }

  void cancel() {
    const held_mutex hold(mutex_);
    at_.store(time_point::max(), std::memory_order_relaxed);
    if (const auto l = loop_.lock()) l->cancel(number_);
  }

 private:
  void set(time_point when, loop::task t) {
    const held_mutex hold(mutex_);
    if (when >= at_.load(std::memory_order_relaxed)) return;
    const auto l = loop_.lock();
    if (!l) return;
    l->cancel(number_);
    at_.store(when, std::memory_order_relaxed);
    number_ = l->at(when, std::move(t));
  }

  void fire() {
    const held_mutex hold(mutex_);
    at_.store(time_point::max(), std::memory_order_relaxed);
  }

  const std::weak_ptr<loop> loop_;
  mutex mutex_;
  std::atomic<time_point> at_{time_point::max()};  ///< Written under the mutex.
  std::uint64_t number_ HOLDFAST_GUARDED_BY(mutex_){0};
};

}  // namespace holdfast::io
