#include "io/thread/latch.hpp"

#include "io/thread/futex.hpp"

#include <limits>

namespace holdfast::io {

void latch::open() noexcept {
  // What was there says whom to wake: mostly nobody sleeps yet, and no system call is made.
  const auto was = parking_.word.exchange(core::parking::opened);
  if (was == core::parking::elsewhere) parking_.where->opened();
  if (was != core::parking::slept_on) return;
  futex_wake(address_of(parking_.word), std::numeric_limits<int>::max());
}

void latch::wait() noexcept { wait_for(parking_); }

void latch::wait_for(core::parking& p) noexcept {
  while (p.announce_sleep()) {
    (void)futex_wait(address_of(p.word), core::parking::slept_on, std::chrono::seconds{1});
  }
}

}  // namespace holdfast::io
