#include "io/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>

namespace holdfast::io {

woken futex_wait(const std::uint32_t* word, std::uint32_t expected, duration limit) noexcept {
  if (limit <= duration::zero()) return woken::timed_out;
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(limit);
  const timespec wait{static_cast<time_t>(whole.count()),
                      static_cast<long>((limit - whole).count())};
  const long rc = ::syscall(SYS_futex, word, FUTEX_WAIT, expected, &wait, nullptr, 0);
  return rc != 0 && errno == ETIMEDOUT ? woken::timed_out : woken::yes;
}

void futex_wake(const std::uint32_t* word, int count) noexcept {
  ::syscall(SYS_futex, word, FUTEX_WAKE, count, nullptr, nullptr, 0);
}

}  // namespace holdfast::io
