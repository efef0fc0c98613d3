#include "cli/end_command_on_exit.hpp"

#include <poll.h>

#include <algorithm>

namespace holdfast::cli {

using namespace std::chrono_literals;

namespace {

/// What a guardian that does its work takes after the last SIGKILL.
constexpr duration guardian_slack = 1s;

}  // namespace

end_command_on_exit::~end_command_on_exit() {
  if (done_) return;
  guardian_.end_now();
  const time_point late = std::min(guardian_.kill_at(), clock::now() + grace_) + guardian_slack;
  while (!guardian_.is_gone() && held_() && clock::now() < late) ::poll(nullptr, 0, 5);
  while (!guardian_.kill_everything(1s) && held_()) continue;
}

}  // namespace holdfast::cli
