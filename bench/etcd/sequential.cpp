#include "bench/etcd/bare_etcd.hpp"
#include "bench/etcd/etcd_store.hpp"
#include "bench/etcd/rows.hpp"
#include "bench/our_callers.hpp"
#include "io/thread/latch.hpp"

#include <holdfast/session.hpp>

#include <stdexcept>

/// One caller that waits for each answer.

namespace holdfast::bench {

namespace {

using goal = figure::goal;

/// On the loop's thread from one answer to the next question: no thread wakes another.
class bare_caller {
 public:
  bare_caller(bare_etcd& on, double seconds) : on_(on), end_(now_us() + seconds * 1e6) {}
  double p50() {
    on_.on_loop([this] { acquire(); });
    over_.wait();
    return median(std::move(took_));
  }

 private:
  void acquire() {
    const std::string key = "bare:" + std::to_string(took_.size() % 1'000);
    const double begin = now_us();
    on_.acquire(key, [this, key, begin](std::int64_t revision) {
      took_.push_back(now_us() - begin);
      on_.release(key, revision, [this] { now_us() < end_ ? acquire() : over_.open(); });
    });
  }

  bare_etcd& on_;
  const double end_;
  std::vector<double> took_;
  io::latch over_;
};

}  // namespace

figures measure_etcd_sequential(const etcd_tests::servers& s, const effort& e) {
  figure n{
      "acquire, one caller, p50; bare: a put if absent", "us", {}, {}, goal::ratio_at_most, 1.2};
  figure calls{"  calls for an acquire and its release", "", {}, {}, goal::ours_at_most, 2};
  const std::string url = s.url("sequential");
  auto own = holdfast::open(url);
  if (!own) throw std::runtime_error(own.error().message());
  bare_etcd bare(s.addresses());
  const etcd_store inside(url);
  inside.settle();
  for (int i = 0; i < e.rounds; ++i) {
    n.bare.push_back(bare_caller(bare, e.seconds).p50());
    n.ours.push_back(our_p50(*own, e.seconds));
    // A heartbeat may fall between them, but not into the median of the rounds.
    const auto before = inside.calls();
    auto l = own->acquire(lock_name("counted"));
    if (!l) throw std::runtime_error(l.error().message());
    if (auto r = std::move(*l).release(); !r) throw std::runtime_error(r.error().message());
    calls.ours.push_back(static_cast<double>(inside.calls() - before));
  }
  return {n, calls};
}

}  // namespace holdfast::bench
