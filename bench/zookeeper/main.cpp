// What zookeeper:// is held to, beside the bare flight on the same server in the same run. Both
// sides take turns; a line shows medians, and the median of the ratios.

#include "bench/figures.hpp"
#include "bench/many_sessions.hpp"
#include "bench/our_callers.hpp"
#include "bench/zookeeper/bare_zookeeper.hpp"
#include "bench/zookeeper/zookeeper_store.hpp"
#include "tests/zookeeper/server.hpp"

#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;
using goal = figure::goal;

constexpr std::size_t callers = 256;

figures measure_callers(zookeeper_tests::servers& servers, const effort& e) {
  auto s = holdfast::open(servers.url("bench") + "?node_timeout=20s");
  if (!s) throw std::runtime_error(s.error().message());
  bare_zookeeper bare(servers.at(0).address(), callers);
  figure one{"acquire, one caller, p50; bare: a flight", "us", {}, {}, goal::ratio_at_most, 1.25};
  figure all{"256 callers, acquire and release", "/s", {}, {}, goal::ratio_at_least, 0.8};
  const auto per_second = [&e](std::uint64_t pairs) {
    return static_cast<double>(pairs) / e.seconds;
  };
  // The first turn of both is Java's, which compiles what it runs.
  for (int i = -1; i < e.rounds; ++i) {
    const double bare_one = median(bare.run_one(e.seconds));
    const double our_one = our_p50(*s, e.seconds, callers);
    const double bare_all = per_second(bare.run_all(e.seconds));
    const double our_all = per_second(our_callers(*s, callers).run(e.seconds));
    if (i < 0) continue;
    one.bare.push_back(bare_one);
    one.ours.push_back(our_one);
    all.bare.push_back(bare_all);
    all.ours.push_back(our_all);
  }
  return {one, all};
}

figures measure_hand_over(zookeeper_tests::servers& servers, const effort& e) {
  figure n{
      "release to the next, p50; bare: delete and its watch", "us", {}, {}, goal::ratio_at_most, 2};
  bare_zookeeper bare(servers.at(0).address(), 1);
  // Another text of the same URL has a connection of its own.
  auto first = holdfast::open(servers.url("handover") + "?node_timeout=20s", {.ttl = 1h});
  auto second = holdfast::open(servers.url("handover") + "?node_timeout=19s", {.ttl = 1h});
  if (!first || !second) throw std::runtime_error("no session");
  for (int i = -1; i < e.rounds; ++i) {
    const double bare_one = median(bare.run_deliveries(e.seconds));
    const double our_one = hand_over_p50(*first, *second, e.seconds);
    if (i < 0) continue;
    n.bare.push_back(bare_one);
    n.ours.push_back(our_one);
  }
  return {n};
}

std::unique_ptr<call_count> inside(const std::string& url) {
  return std::make_unique<zookeeper_store>(url);
}

figures measure_waiters(zookeeper_tests::servers& servers) {
  const zookeeper_store store(servers.url("herd"));
  const herd seen = measure_herd(store.engine(), store, 1'000);
  return {{"woken by a release while 1,000 wait", "", {seen.woken}, {}, goal::ours_at_most, 1},
          {"  batches for it, of all clients", "", {seen.calls}, {}, goal::ours_at_most, 3}};
}

figures measure_heartbeat(zookeeper_tests::servers& servers) {
  figure n{
      "batches in 10 s while 100,000 are held; bare: one", "", {}, {}, goal::ratio_at_most, 1.3};
  n.bare.push_back(calls_while_holding(servers.url("one"), 1, inside));
  n.ours.push_back(calls_while_holding(servers.url("many"), 100'000, inside));
  return {n};
}

}  // namespace

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;
  holdfast::zookeeper_tests::servers servers;
  return print_rows(argc, argv, [&](const effort& e) -> std::vector<row> {
    return {{"callers", [&servers, &e] { return measure_callers(servers, e); }},
            {"hand-over", [&servers, &e] { return measure_hand_over(servers, e); }},
            {"herd", [&servers] { return measure_waiters(servers); }},
            {"heartbeat", [&servers] { return measure_heartbeat(servers); }}};
  });
}
