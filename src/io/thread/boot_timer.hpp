#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

namespace holdfast::io {

/// A timerfd on CLOCK_BOOTTIME, which also counts the time this machine was suspended; the timers
/// of the standard library and of Asio are on CLOCK_MONOTONIC and do not. See timerfd_create(2).
///
/// Thread safety: arm() and wait() from any thread.
class boot_timer {
 public:
  static result<boot_timer> make();
  boot_timer(boot_timer&&) noexcept;
  boot_timer& operator=(boot_timer&&) = delete;
  ~boot_timer();

  /// Fires at `when`, or at once if that has passed; time_point::max() never.
  void arm(time_point when) noexcept;
  /// Blocks until it fires, and clears it.
  void wait() noexcept;
  int descriptor() const noexcept { return fd_; }

 private:
  explicit boot_timer(int fd) noexcept : fd_(fd) {}
  int fd_;
};

}  // namespace holdfast::io
