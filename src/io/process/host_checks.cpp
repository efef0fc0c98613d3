#include "io/process/host_checks.hpp"

#include "io/process/process_identity.hpp"
#include "io/thread/boot_timer.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace holdfast::io {

namespace {

std::string why() { return std::generic_category().message(errno); }

finding check_clock() {
  timespec t{};
  if (::clock_gettime(CLOCK_BOOTTIME, &t) == 0) {
    return {severity::good, "clock", "CLOCK_BOOTTIME can be read; it counts suspended time too"};
  }
  return {severity::fault, "clock",
          "CLOCK_BOOTTIME cannot be read (" + why() + "): leases cannot be trusted on this kernel"};
}

finding check_timer() {
  const auto timer = boot_timer::make();
  if (timer) return {severity::good, "timer", "timers on CLOCK_BOOTTIME can be made"};
  return {severity::fault, "timer", timer.error().message() + "; sessions cannot be opened"};
}

finding check_boot_id() {
  const auto id = boot_id();
  if (!id.empty()) return {severity::good, "boot id", id};
  return {severity::warning, "boot id",
          "/proc/sys/kernel/random/boot_id cannot be read: notes of earlier tries are not reused; "
          "mount /proc"};
}

}  // namespace

std::vector<finding> check_host() { return {check_clock(), check_timer(), check_boot_id()}; }

finding check_pidfd() {
  const auto fd = static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0));
  if (fd < 0) {
    return {severity::warning, "pidfd",
            "pidfd_open is not available (" + why() +
                "): the crash of a process of this host is noticed by polling, "
                "within a quarter of a second"};
  }
  ::close(fd);
  return {severity::good, "pidfd", "the crash of a process of this host is noticed at once"};
}

}  // namespace holdfast::io
