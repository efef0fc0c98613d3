#include "tests/interop/own_clients.hpp"

#include <random>
#include <utility>

namespace holdfast::interop_tests {

using namespace std::chrono_literals;

own_clients::own_clients(const redlock_tests::five_nodes& nodes, const std::string& query,
                         std::string name, section_log& log)
    : name_(std::move(name)), log_(log) {
  // Another order of the nodes makes another client, with connections of its own.
  std::vector<session> sessions;
  for (std::size_t i = 0; i < 2; ++i) sessions.push_back(nodes.open(query, i % nodes.size()));
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    threads_.emplace_back([this, by = std::move(sessions[i]), i]() mutable {
      take_part(std::move(by), "holdfast-" + std::to_string(i));
    });
  }
}

void own_clients::take_part(session by, const std::string& who) {
  std::minstd_rand random(std::random_device{}());
  std::uint64_t last_token = 0;
  while (!over_) {
    hold_once(by, who, last_token);
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + random() % 10));
  }
}

void own_clients::hold_once(session& by, const std::string& who, std::uint64_t& last_token) {
  // Short waits: another client's release is not told, and polls become rarer while one waits.
  auto l = by.acquire(lock_name(name_), {.wait = 100ms});
  if (!l) return note(l.error());
  const auto begin = monotonic_now();
  const std::uint64_t token = l->token().value;
  if (token != 0 && token <= std::exchange(last_token, token)) ++faults_;
  std::this_thread::sleep_for(1ms);
  const auto end = monotonic_now();
  // What passes now was held at `end` as well.
  if (l->check()) log_.add({who, begin, end});
  if (auto r = std::move(*l).release(); !r) note(r.error());
}

void own_clients::note(const error& e) {
  if (e.code() == errc::timed_out) return;
  if (e.code() == errc::lost) ++faults_;
  const std::lock_guard hold(mutex_);
  ++troubles_[name_of(e.code()) + std::string(": ") + e.message()];
}

void own_clients::end() {
  over_ = true;
  for (auto& t : threads_) t.join();
  threads_.clear();
}

std::string own_clients::troubles() const {
  const std::lock_guard hold(mutex_);
  std::string all;
  for (const auto& [what, times] : troubles_) all += std::to_string(times) + " x " + what + "\n";
  return all;
}

}  // namespace holdfast::interop_tests
