#include "tests/redis_server/contest.hpp"

#include "tests/process/child.hpp"

#include <utility>

namespace holdfast::redis_tests {

using namespace std::chrono_literals;

namespace {

constexpr auto shortly = 1ms;
/// A third of a ttl of a second is over, so that there was a heartbeat.
constexpr auto for_long = 400ms;
constexpr unsigned one_in = 8;

}  // namespace

contest::contest(std::vector<std::string> urls, std::string name, bool tokens)
    : name_(std::move(name)), seen_(tokens) {
  for (auto& url : urls) {
    clients_.emplace_back([this, url = std::move(url)] { take_part(url); });
  }
}

void contest::take_part(const std::string& url) {
  while (!over_) {
    auto by = holdfast::open(url);
    if (!by) {
      note(by.error());
      std::this_thread::sleep_for(20ms);
      continue;
    }
    while (!over_ && by->remaining() > duration::zero()) hold_once(*by);
    if (!over_) ++lost_sessions_;
  }
}

void contest::hold_once(session& by) {
  // A reader may go on overtaking who waits for the lock.
  while (pauses_ && !over_) std::this_thread::sleep_for(1ms);
  const std::shared_lock asks(asking_);
  auto l = by.acquire(lock_name(name_), {.wait = 500ms});
  if (!l) {
    note(l.error());
    if (l.error().code() != errc::timed_out) std::this_thread::sleep_for(10ms);
    return;
  }
  const std::uint64_t me = seen_.begins(*l);
  const time_point until = clock::now() + (++holds_ % one_in == 0 ? for_long : shortly);
  while (me != 0 && clock::now() < until && !over_ && seen_.still(me, *l)) {
    std::this_thread::sleep_for(200us);
  }
  if (auto r = std::move(*l).release(); !r) note(r.error());
}

void contest::note(const error& e) {
  const std::lock_guard hold(mutex_);
  ++troubles_[name_of(e.code()) + std::string(": ") + e.message()];
}

bool contest::more(std::uint64_t grants, std::chrono::milliseconds limit) {
  const std::uint64_t from = seen_.grants();
  return process::eventually([&] { return seen_.grants() >= from + grants; }, limit);
}

bool contest::rests(std::chrono::milliseconds length, std::chrono::milliseconds limit) {
  std::uint64_t seen = seen_.grants();
  time_point since = clock::now();
  return process::eventually(
      [&] {
        const std::uint64_t now = seen_.grants();
        if (std::exchange(seen, now) != now) since = clock::now();
        return clock::now() - since >= length;
      },
      limit);
}

void contest::while_nobody_asks(const std::function<void()>& what) {
  pauses_ = true;
  {
    const std::lock_guard hold(asking_);
    what();
  }
  pauses_ = false;
}

void contest::end() {
  over_ = true;
  for (auto& c : clients_) c.join();
  clients_.clear();
}

std::string contest::troubles() const {
  const std::lock_guard hold(mutex_);
  std::string all;
  for (const auto& [what, times] : troubles_) all += std::to_string(times) + " x " + what + "\n";
  return all;
}

}  // namespace holdfast::redis_tests
