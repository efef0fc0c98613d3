#include "io/latch.hpp"

#include "io/futex.hpp"

#include <limits>

namespace holdfast::io {

void latch::open() noexcept {
  if (parking_.word.exchange(core::parking::opened) != core::parking::slept_on) return;
  futex_wake(address_of(parking_.word), std::numeric_limits<int>::max());
}

void latch::wait() noexcept {
  while (parking_.announce_sleep()) {
    (void)futex_wait(address_of(parking_.word), core::parking::slept_on, std::chrono::seconds{1});
  }
}

}  // namespace holdfast::io
