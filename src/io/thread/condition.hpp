#pragma once

#include "io/thread/mutex.hpp"

#include <chrono>
#include <condition_variable>

namespace holdfast::io {

/// A std::condition_variable for an io::mutex. What is waited for is asked in a loop around the
/// wait, where clang sees that the mutex is held; in a lambda it would not:
///
///     while (!finished_) ended_.wait(mutex_);
///
/// Thread safety: every function, from any thread.
class condition {
 public:
  void notify_one() noexcept { plain_.notify_one(); }
  void notify_all() noexcept { plain_.notify_all(); }

  /// Frees the mutex while it waits. Returns when it was notified, or for no reason.
  void wait(mutex& m) HOLDFAST_REQUIRES(m) {
    borrowed b(m);
    plain_.wait(b.hold);
  }
  /// The same, until a time on CLOCK_MONOTONIC at most: it stands still while a machine sleeps, so
  /// for bounds, and not for deadlines. False when it has come.
  bool wait_until(mutex& m, std::chrono::steady_clock::time_point until) HOLDFAST_REQUIRES(m) {
    borrowed b(m);
    return plain_.wait_until(b.hold, until) == std::cv_status::no_timeout;
  }

 private:
  /// What std::condition_variable wants to have, around a mutex that stays held by its holder.
  struct borrowed {
    explicit borrowed(mutex& m) : hold(m.plain_, std::adopt_lock) {}
    borrowed(const borrowed&) = delete;
    borrowed& operator=(const borrowed&) = delete;
    ~borrowed() { (void)hold.release(); }
    std::unique_lock<std::mutex> hold;
  };

  std::condition_variable plain_;
};

}  // namespace holdfast::io
