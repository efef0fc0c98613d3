#include "cli/outage.hpp"

#include "cli/command_line.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;

constexpr duration look_again = 1s;

}  // namespace

std::optional<int> pause_while_read(duration length, const report& out) {
  const time_point until = clock::now() + length;
  for (duration left = length; left > 0s; left = until - clock::now()) {
    std::this_thread::sleep_for(std::min(left, duration(1s)));
    if (const auto code = end_unless_read(out)) return code;
  }
  return std::nullopt;
}

std::optional<int> outage::wait(const error& why, bool shown) {
  if (!shown || why != errc::unavailable) return fail_in(url_, why, out_);
  if (!std::exchange(lasts_, true)) {
    out_.warn("warning: " + harmless(why.message()) + "; looking again until it answers");
  }
  return pause_while_read(look_again, out_);
}

bool outage::ends() {
  if (!std::exchange(lasts_, false)) return false;
  out_.warn("warning: store " + harmless(url_) + " answers again");
  return true;
}

}  // namespace holdfast::cli
