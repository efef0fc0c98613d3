#include "io/thread/boot_timer.hpp"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace holdfast::io {

result<boot_timer> boot_timer::make() {
  const int fd = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
  if (fd < 0) {
    return error(errc::unavailable, "cannot create a timer on CLOCK_BOOTTIME: " +
                                        std::generic_category().message(errno));
  }
  return boot_timer(fd);
}

boot_timer::boot_timer(boot_timer&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

boot_timer::~boot_timer() {
  if (fd_ >= 0) ::close(fd_);
}

void boot_timer::arm(time_point when) noexcept {
  itimerspec spec{};
  if (when != time_point::max()) {
    // All zeroes would disarm it.
    const auto at = std::max<std::int64_t>(when.time_since_epoch().count(), 1);
    spec.it_value.tv_sec = at / 1'000'000'000;
    spec.it_value.tv_nsec = at % 1'000'000'000;
  }
  ::timerfd_settime(fd_, TFD_TIMER_ABSTIME, &spec, nullptr);
}

void boot_timer::wait() noexcept {
  std::uint64_t times{};
  while (::read(fd_, &times, sizeof times) < 0 && errno == EINTR) {
  }
}

}  // namespace holdfast::io
