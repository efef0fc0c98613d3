#include "bench/etcd/bare_etcd.hpp"
#include "bench/etcd/etcd_store.hpp"
#include "bench/etcd/rows.hpp"
#include "bench/many_sessions.hpp"
#include "bench/measure.hpp"
#include "io/thread/latch.hpp"

#include <holdfast/session.hpp>

#include <atomic>
#include <stdexcept>
#include <utility>
#include <vector>

/// From one holder to the next one, what it costs when many wait, and what keeping locks costs.

namespace holdfast::bench {

namespace {

using goal = figure::goal;

/// Deletes a key that is watched: one commit and one delivery.
class bare_delivery {
 public:
  explicit bare_delivery(const std::string& address) : on_(address) {
    on_.on_loop([this] { on_.watch(key, [this] { heard_.load()->open(); }); });
  }

  double p50(double seconds) {
    std::vector<double> took;
    for (const double end = now_us() + seconds * 1e6; now_us() < end;) {
      io::latch made;
      io::latch delivered;
      heard_ = &delivered;
      std::int64_t revision = 0;
      on_.on_loop([&] {
        on_.acquire(key, [&](std::int64_t r) {
          revision = r;
          made.open();
        });
      });
      made.wait();
      settle();
      const double begin = now_us();
      on_.on_loop([&] { on_.release(key, revision, [] {}); });
      delivered.wait();
      took.push_back(now_us() - begin);
    }
    return median(std::move(took));
  }

 private:
  static constexpr const char* key = "watched";
  std::atomic<io::latch*> heard_{};
  bare_etcd on_;
};

std::unique_ptr<call_count> inside(const std::string& url) {
  return std::make_unique<etcd_store>(url);
}

}  // namespace

figures measure_etcd_hand_over(const etcd_tests::servers& s, const effort& e) {
  figure latency{
      "release to the next, p50; bare: delete and its watch", "us", {}, {}, goal::ratio_at_most, 2};
  bare_delivery bare(s.addresses());
  // Another text of the same URL has connections of its own.
  auto first = holdfast::open(s.url("handover") + "?node_timeout=2s");
  auto second = holdfast::open(s.url("handover") + "?node_timeout=2001ms");
  if (!first || !second) throw std::runtime_error("no session");
  for (int i = 0; i < e.rounds; ++i) {
    latency.bare.push_back(bare.p50(e.seconds));
    latency.ours.push_back(hand_over_p50(*first, *second, e.seconds));
  }
  return {latency};
}

figures measure_etcd_herd(const etcd_tests::servers& s, const effort&) {
  const etcd_store store(s.url("herd"));
  const herd seen = measure_herd(store.engine(), store, 1'000);
  return {{"woken by a release while 1,000 wait", "", {seen.woken}, {}, goal::ours_at_most, 1},
          {"  calls for it, of all clients", "", {seen.calls}, {}, goal::ours_at_most, 3}};
}

figures measure_etcd_heartbeat(const etcd_tests::servers& s, const effort&) {
  figure n{"calls in 10 s while 100,000 are held; bare: one", "", {}, {}, goal::ratio_at_most, 1.3};
  n.bare.push_back(calls_while_holding(s.url("one"), 1, inside));
  n.ours.push_back(calls_while_holding(s.url("many"), 100'000, inside));
  return {n};
}

}  // namespace holdfast::bench
