#include "io/thread/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
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

woken_by_either futex_wait_either(const std::uint32_t* first, std::uint32_t first_expected,
                                  const std::uint32_t* second, std::uint32_t second_expected,
                                  duration limit) noexcept {
  timespec end{};
  ::clock_gettime(CLOCK_MONOTONIC, &end);
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(limit);
  end.tv_sec += static_cast<time_t>(whole.count());
  std::array<futex_waitv, 2> words{};
  words[0].val = first_expected;
  words[0].uaddr = reinterpret_cast<std::uintptr_t>(first);
  words[0].flags = FUTEX_32;
  words[1].val = second_expected;
  words[1].uaddr = reinterpret_cast<std::uintptr_t>(second);
  words[1].flags = FUTEX_32;
  const long rc = ::syscall(SYS_futex_waitv, words.data(), words.size(), 0, &end, CLOCK_MONOTONIC);
  if (rc >= 0) return woken_by_either::yes;
  if (errno == ETIMEDOUT) return woken_by_either::timed_out;
  // The kernel knows the call: a word was different, or a signal came.
  const bool looked = errno == EAGAIN || errno == EINTR;
  return looked ? woken_by_either::yes : woken_by_either::unsupported;
}

void futex_wake(const std::uint32_t* word, int count) noexcept {
  ::syscall(SYS_futex, word, FUTEX_WAKE, count, nullptr, nullptr, 0);
}

}  // namespace holdfast::io
