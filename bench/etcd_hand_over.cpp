#include "bench/bare_etcd.hpp"
#include "bench/etcd_rows.hpp"
#include "bench/etcd_store.hpp"
#include "bench/measure.hpp"
#include "io/latch.hpp"
#include "tests/process/child.hpp"

#include <holdfast/session.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

/// From one holder to the next one, and what it costs when many wait.

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;
using goal = figure::goal;

session join(const std::string& url) {
  auto s = holdfast::open(url, {.ttl = 1h});
  if (!s) throw std::runtime_error(s.error().message());
  return std::move(*s);
}

lock hold(session& s, const char* name) {
  auto l = s.acquire(lock_name(name));
  if (!l) throw std::runtime_error(l.error().message());
  return std::move(*l);
}

/// Deletes a key that is watched: one commit and one delivery.
class bare_delivery {
 public:
  explicit bare_delivery(const std::string& address) : on_(address) {
    on_.on_loop([this] { on_.watch(key, [this] { heard_.load()->open(); }); });
  }

  double p50(double seconds) {
    std::vector<double> took;
    for (const double end = now_us() + seconds * 1e6; now_us() < end;) {
      io::latch delivered;
      heard_ = &delivered;
      double begin = 0;
      on_.on_loop([&] {
        on_.acquire(key, [&](std::int64_t revision) {
          begin = now_us();
          on_.release(key, revision, [] {});
        });
      });
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

/// Two clients with connections of their own; it ends when the second one knows.
double our_hand_over(session& first, session& second, double seconds) {
  std::vector<double> took;
  session* holder = &first;
  session* next = &second;
  std::optional<lock> held = hold(*holder, "handed");
  for (const double end = now_us() + seconds * 1e6; now_us() < end;) {
    std::optional<lock> got;
    double told = 0;
    io::latch done;
    next->acquire(lock_name("handed"), {.wait = 60s}, [&](result<lock> l) {
      told = now_us();
      if (l) got.emplace(std::move(*l));
      done.open();
    });
    // Until it waits and watches.
    std::this_thread::sleep_for(5ms);
    const double begin = now_us();
    io::latch released;
    std::move(*held).release([&](const result<void>&) { released.open(); });
    done.wait();
    released.wait();
    if (!got) throw std::runtime_error("a waiter got nothing");
    took.push_back(told - begin);
    held.emplace(std::move(*got));
    std::swap(holder, next);
  }
  return median(std::move(took));
}

/// How many calls one release and the grant that follows take when so many wait.
double calls_of_a_hand_over(const std::string& url, std::size_t waiters) {
  const etcd_store inside(url);
  auto holder = join(url);
  std::optional<lock> held = hold(holder, "wanted");
  std::vector<session> all;
  std::vector<std::unique_ptr<std::optional<lock>>> got;
  std::atomic<std::size_t> grants{};
  for (std::size_t i = 0; i < waiters; ++i) {
    all.push_back(join(url));
    got.push_back(std::make_unique<std::optional<lock>>());
    all.back().acquire(lock_name("wanted"), {.wait = 1h}, [&, to = got.back().get()](auto l) {
      if (l) to->emplace(std::move(*l));
      ++grants;
    });
  }
  inside.settle();
  const auto before = inside.calls();
  if (auto r = std::move(*held).release(); !r) throw std::runtime_error(r.error().message());
  if (!process::eventually([&] { return grants == 1; })) throw std::runtime_error("no grant");
  inside.settle();
  const auto calls = static_cast<double>(inside.calls() - before);
  if (grants != 1) throw std::runtime_error("a release granted more than one");
  for (auto& s : all) static_cast<void>(s.close());
  return calls;
}

}  // namespace

figures measure_etcd_hand_over(const etcd_tests::servers& s, const effort& e) {
  figure latency{
      "release to the next, p50; bare: delete and its watch", "us", {}, {}, goal::ratio_at_most, 2};
  figure herd{"  calls for it while 1,000 wait", "", {}, {}, goal::ours_at_most, 4};
  bare_delivery bare(s.addresses());
  // Another text of the same URL has connections of its own.
  auto first = join(s.url("handover") + "?node_timeout=2s");
  auto second = join(s.url("handover") + "?node_timeout=2001ms");
  for (int i = 0; i < e.rounds; ++i) {
    latency.bare.push_back(bare.p50(e.seconds));
    latency.ours.push_back(our_hand_over(first, second, e.seconds));
  }
  herd.ours.push_back(calls_of_a_hand_over(s.url("herd"), 1'000));
  return {latency, herd};
}

}  // namespace holdfast::bench
