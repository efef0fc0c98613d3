#include "cli/wake_ups.hpp"

#include "cli/guardian_link.hpp"
#include "cli/run_events.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace holdfast::cli {

using namespace std::chrono_literals;

void wake_ups::wait(duration limit, from what) {
  std::array<pollfd, 3> watched{
      {{events_.fd(), POLLIN, 0}, {signals_, POLLIN, 0}, {guardian_.socket(), POLLIN, 0}}};
  const auto ms = static_cast<int>(std::max<std::int64_t>(limit / 1ms, 1));
  ::poll(watched.data(), what == from::events ? 1 : watched.size(), ms);
  events_.drain();
}

std::optional<int> wake_ups::next_signal() {
  signalfd_siginfo info{};
  if (::read(signals_, &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace holdfast::cli
