#pragma once

#include <holdfast/error.hpp>
#include <holdfast/export.hpp>
#include <holdfast/lock.hpp>
#include <holdfast/session.hpp>

#include <chrono>
#include <optional>
#include <utility>

namespace holdfast {

/// A lock name in the shape of a standard mutex, for `std::unique_lock` and `std::scoped_lock`.
///
/// |          | lock()                  | try_lock() | try_lock_for(d) | unlock()  |
/// |----------|-------------------------|------------|-----------------|-----------|
/// | unlocked | waits; throws on failure| true/false | true/false      | stops the program |
/// | locked   | throws `busy`           | false      | false           | unlocked  |
///
/// What it does **not** promise, and why acquire() is the better choice for anything that matters:
/// the standard's shape has no way to say that the lock was lost. Ask held() for the lock and call
/// check() on it before each protected step.
///
/// Thread safety: one thread at a time, like the `std::unique_lock` around it. Two threads use two
/// mutex objects, and for one name two sessions: a name that the session has already is `busy` and
/// never waited for, whichever thread asks. The session must outlive it.
class mutex {
 public:
  /// Nothing is asked of the store yet; a name that is none shows at the first lock().
  mutex(session& s, lock_name name) : session_(&s), name_(std::move(name)) {}
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  /// Waits without a limit. Throws `std::system_error` when it cannot be had.
  void lock() { take(forever).value(); }

  /// True when it was free and is now held. False for every failure: busy, but also a store that
  /// does not answer.
  bool try_lock() { return take(duration::zero()).has_value(); }

  /// Waits at most `d`; rounds up to nanoseconds, and zero or less tries once. More than a hundred
  /// years are no limit.
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& d) {
    if (!(wide(d) > wide::zero())) return take(duration::zero()).has_value();
    return take(wide(d) > century ? forever : std::chrono::ceil<duration>(d)).has_value();
  }

  /// Waits until `t` on any clock; the time left is measured once, when called.
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& t) {
    const auto now = Clock::now();
    const wide left = wide(t.time_since_epoch()) - wide(now.time_since_epoch());
    return left > century || left < -century ? try_lock_for(left) : try_lock_for(t - now);
  }

  /// Gives the lock back. Unlocking what is not locked is a programmer's error.
  void unlock() noexcept {
    if (!held_) detail::bad_access("holdfast::mutex::unlock() without a lock");
    held_.reset();
  }

  /// The lock while it is locked, else null: for token(), check() and lost().
  const holdfast::lock* held() const noexcept { return held_ ? &*held_ : nullptr; }

 private:
  // Seconds, of which no duration has too many: some have more than nanoseconds can count.
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
