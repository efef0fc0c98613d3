#include <holdfast/clock.hpp>

#include <ctime>

namespace holdfast {

time_point clock::now() noexcept {
  std::timespec t{};
  // Cannot fail: the clock exists since Linux 2.6.39 and the pointer is valid.
  static_cast<void>(clock_gettime(CLOCK_BOOTTIME, &t));
  return time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

}  // namespace holdfast
