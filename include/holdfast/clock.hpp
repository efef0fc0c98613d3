#pragma once

#include <holdfast/export.hpp>

#include <chrono>

namespace holdfast {

/// Elapsed time on this machine, including the time it was suspended (Linux CLOCK_BOOTTIME).
///
/// `std::chrono::steady_clock` is CLOCK_MONOTONIC on Linux and stands still while a machine
/// sleeps: a holder that slept past its lease would still believe that it holds. The wall clock
/// can be stepped. See clock_gettime(2).
///
/// A time point has no meaning on another machine, nor in a process with a time namespace of its
/// own: only durations are ever exchanged.
///
/// Thread safety: every function may be called from any thread.
struct HOLDFAST_EXPORT clock {
  // What the standard requires of a clock, so that <chrono> and condition variables accept it.
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<clock>;
  static constexpr bool is_steady = true;

  /// The time now. Never goes back, never fails.
  static time_point now() noexcept;
};

/// A length of time in nanoseconds. Each function that takes one says what zero means.
using duration = clock::duration;

/// A moment on this machine's clock.
using time_point = clock::time_point;

/// As a wait: without a time limit. Such a wait still ends when it is cancelled, when the session
/// ends, and when the store is closed.
inline constexpr duration forever = duration::max();

}  // namespace holdfast
