#include "bench/measure.hpp"
#include "bench/redlock/redlock_store.hpp"
#include "bench/redlock/rows.hpp"
#include "bench/usage.hpp"

#include <holdfast/redlock.hpp>
#include <holdfast/session.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

/// One caller while one of the five nodes is refused, and while one hangs with its connection open.

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;
using goal = figure::goal;

struct sight {
  double failures{};
  double p99{};
  double most{};
  double memory{};  ///< How much more there was at the end.
};

sight look(session& s, double seconds) {
  sight all;
  std::vector<double> took;
  const double memory = resident_bytes();
  const double end = now_us() + seconds * 1e6;
  for (std::uint64_t i = 0; now_us() < end; ++i) {
    const double begin = now_us();
    // Names of its own: what a row before left on a node that was away would make one busy here,
    // where another node is missing.
    auto l = s.acquire(lock_name("faults:" + std::to_string(i % 1'000)));
    took.push_back(now_us() - begin);
    if (!l || !std::move(*l).release()) ++all.failures;
  }
  all.memory = (resident_bytes() - memory) / (1024 * 1024);
  all.most = *std::max_element(took.begin(), took.end());
  all.p99 = percentile(std::move(took), 0.99);
  return all;
}

/// The four lines of one fault.
class record {
 public:
  explicit record(const std::string& fault)
      : lines_{{fault + ": acquires that failed", "", {}, {}, goal::ours_at_most, 0},
               {"  p99; bare: all nodes healthy", "us", {}, {}, goal::ratio_at_most, 1.15},
               {"  the longest; bare: all nodes healthy", "us", {}, {}, goal::ours_at_most, 5'000},
               {"  memory more at the end", "MiB", {}, {}, goal::ours_at_most, 8}} {}
  void add(const sight& faulty, const sight& healthy) {
    lines_[0].ours.push_back(faulty.failures);
    lines_[1].ours.push_back(faulty.p99);
    lines_[1].bare.push_back(healthy.p99);
    lines_[2].ours.push_back(faulty.most);
    lines_[2].bare.push_back(healthy.most);
    lines_[3].ours.push_back(faulty.memory);
  }
  void append_to(figures& all) const { all.insert(all.end(), lines_.begin(), lines_.end()); }

 private:
  figures lines_;
};

/// A server that was ended votes again when its clients have waited for max_ttl: before that, one
/// fault more would be the second.
void await_all_votes(const std::string& url) {
  const double until = now_us() + 20e6;
  while (true) {
    const auto seen = redlock::status(url);
    if (seen && seen->votes == seen->nodes.size()) break;
    if (now_us() > until) throw std::runtime_error("a node does not come back");
    std::this_thread::sleep_for(50ms);
  }
  std::this_thread::sleep_for(300ms);
}

}  // namespace

figures measure_faults(redis_servers& servers, const effort& e) {
  const std::string url = url_of(servers.ports(), default_timeout);
  auto s = holdfast::open(url);
  if (!s) throw std::runtime_error(s.error().message());
  record refused("one node refused");
  record hung("one node hung");
  for (int i = 0; i < e.rounds; ++i) {
    await_all_votes(url);
    const sight healthy = look(*s, e.seconds);
    servers.hang(1);
    hung.add(look(*s, e.seconds * 2), healthy);
    servers.go_on(1);
    await_all_votes(url);
    const sight again = look(*s, e.seconds);
    servers.end(2);
    refused.add(look(*s, e.seconds * 2), again);
    servers.start(2);
  }
  figures all;
  refused.append_to(all);
  hung.append_to(all);
  return all;
}

}  // namespace holdfast::bench
