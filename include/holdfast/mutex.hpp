#pragma once

#include <holdfast/error.hpp>
#include <holdfast/export.hpp>
#include <holdfast/lock.hpp>
#include <holdfast/session.hpp>

#include <chrono>
#include <optional>
#include <utility>

namespace holdfast {

/// A lock name with the interface of a standard mutex, for `std::unique_lock` and
/// `std::scoped_lock`.
///
/// |          | lock()                  | try_lock() | try_lock_for(d) | unlock()  |
/// |----------|-------------------------|------------|-----------------|-----------|
/// | unlocked | waits; throws on failure| true/false | true/false      | stops the program |
/// | locked   | throws `busy`           | false      | false           | unlocked  |
///
/// What it does **not** promise: to report that the lock was lost. The standard's interface has
/// no way to say it, so prefer session::acquire for anything that matters; or get the lock with
/// held() and call check() on it before each protected step.
///
/// Thread safety: one thread at a time, like the `std::unique_lock` around it. Two threads use
/// two mutex objects, and for one name two sessions: a name that the session has already is
/// `busy` and never waited for, in any thread. The session must outlive the mutex.
class mutex {
 public:
  /// Does not ask the store; an invalid name is reported by the first lock().
  mutex(session& s, lock_name name) : session_(&s), name_(std::move(name)) {}
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  /// Waits without a limit. Throws `std::system_error` when the acquire fails.
  void lock() { take(forever).value(); }

  /// True when it was free and is now held. False for every failure, not only when it is busy:
  /// also when the store does not answer.
  bool try_lock() { return take(duration::zero()).has_value(); }

  /// Waits for at most `d`, rounded up to nanoseconds. Zero or less tries once; more than a
  /// hundred years is without a limit.
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& d) {
    if (!(wide(d) > wide::zero())) return take(duration::zero()).has_value();
    return take(wide(d) > century ? forever : std::chrono::ceil<duration>(d)).has_value();
  }

  /// Waits until `t` on any clock. The time left is measured once, when this is called.
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& t) {
    const auto now = Clock::now();
    const wide left = wide(t.time_since_epoch()) - wide(now.time_since_epoch());
    return left > century || left < -century ? try_lock_for(left) : try_lock_for(t - now);
  }

  /// Gives the lock back. To unlock an unlocked mutex is a programmer's error.
  void unlock() noexcept {
    if (!held_) detail::bad_access("holdfast::mutex::unlock() without a lock");
    held_.reset();
  }

  /// The lock while it is locked, else null: for token(), check() and lost().
  const holdfast::lock* held() const noexcept { return held_ ? &*held_ : nullptr; }

 private:
  // Seconds as floating point: a duration may be longer than nanoseconds can count.
  using wide = std::chrono::duration<long double>;
  static constexpr wide century{100.0L * 365 * 24 * 60 * 60};

  result<void> take(duration wait) {
    auto got = session_->acquire(name_, {.wait = wait});
    if (!got) return got.error();
    held_.emplace(std::move(*got));
    return {};
  }

  session* session_;
  lock_name name_;
  std::optional<holdfast::lock> held_;
};

}  // namespace holdfast
