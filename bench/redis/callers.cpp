#include "bench/our_callers.hpp"
#include "bench/redis/bare_master.hpp"
#include "bench/redis/cost.hpp"
#include "bench/redis/redis_store.hpp"
#include "bench/redis/rows.hpp"

/// Acquire and release where nobody is in the way: by one caller that waits for each answer, and by
/// many at a time.

namespace holdfast::bench {

namespace {

using goal = figure::goal;

constexpr std::size_t callers = 256;

double bare_p50(bare_master& m, double seconds) {
  static std::uint64_t request = 0;
  std::vector<double> took;
  for (const stretch t(seconds); !t.is_over();) {
    const std::string name = "bare:" + std::to_string(took.size() % 1'000);
    const double begin = now_us();
    const std::string granted = m.connection().ask(0, m.enqueue(name, ++request));
    took.push_back(now_us() - begin);
    if (!granted.starts_with("*3\r\n:1\r\n")) throw std::runtime_error(granted);
    m.connection().ask(0, m.leave(name, request));
  }
  return median(std::move(took));
}

/// So many at a time, on one connection.
class bare_callers {
 public:
  explicit bare_callers(bare_master& m) : master_(m) {
    for (std::size_t i = 0; i < callers; ++i) all_.push_back({"bare:" + std::to_string(i), 0});
  }

  std::uint64_t run(double seconds) {
    const double end = now_us() + seconds * 1e6;
    std::uint64_t pairs = 0;
    std::size_t left = all_.size();
    for (std::size_t i = 0; i < all_.size(); ++i) acquire(i);
    while (left > 0) {
      master_.connection().flush();
      const bool over = now_us() >= end;
      master_.connection().turn([&](const bare_nodes::answer& a) {
        const std::size_t i = a.tag / 2;
        if (a.tag % 2 == 0) {
          if (!a.yes) throw std::runtime_error("the bare loop failed");
          return release(i);
        }
        ++pairs;
        over ? static_cast<void>(--left) : acquire(i);
      });
    }
    return pairs;
  }

 private:
  struct caller {
    std::string name;
    std::uint64_t request{};
  };

  void acquire(std::size_t i) {
    all_[i].request = ++request_;
    master_.connection().queue(0, master_.enqueue(all_[i].name, request_), i * 2);
  }
  void release(std::size_t i) {
    master_.connection().queue(0, master_.leave(all_[i].name, all_[i].request), i * 2 + 1);
  }

  bare_master& master_;
  std::vector<caller> all_;
  std::uint64_t request_{1'000'000'000};
};

}  // namespace

figures measure_one_caller(const redis_servers& servers, const effort& e) {
  figure took{"acquire, one caller, p50", "us", {}, {}, goal::ratio_at_most, 1.2};
  figure scripts{"  scripts for acquire + release", "", {}, {}, goal::ours_at_most, 2.01};
  auto s = holdfast::open(url_of(servers));
  if (!s) throw std::runtime_error(s.error().message());
  bare_master bare(servers.ports().front());
  for (int i = 0; i < e.rounds; ++i) {
    took.bare.push_back(bare_p50(bare, e.seconds));
    took.ours.push_back(our_p50(*s, e.seconds));
  }
  reset_calls(bare.connection());
  for (int i = 0; i < 1'000; ++i) static_cast<void>(s->acquire(lock_name("counted")).value());
  scripts.ours.push_back(calls(bare.connection(), "evalsha") / 1'000);
  return {took, scripts};
}

figures measure_many_callers(const redis_servers& servers, const effort& e) {
  auto s = holdfast::open(url_of(servers));
  if (!s) throw std::runtime_error(s.error().message());
  const redis_store store(url_of(servers));
  bare_master bare(servers.ports().front());
  comparison all;
  for (int i = 0; i < e.rounds; ++i) {
    {
      const meter m(servers);
      const auto before = bare.connection().calls();
      const auto pairs = bare_callers(bare).run(e.seconds);
      all.bare.push_back(m.read(pairs, bare.connection().calls() - before));
    }
    const meter m(servers);
    const auto before = store.calls();
    const auto pairs = our_callers(*s, callers).run(e.seconds);
    all.ours.push_back(m.read(pairs, store.calls() - before));
  }
  return {all.take("256 callers: acquire + release", "1/s", &cost::per_second, goal::ratio_at_least,
                   0.8),
          all.take("  client CPU", "us", &cost::client_us, goal::shown, 0),
          all.take("  server CPU", "us", &cost::server_us, goal::shown, 0),
          all.take("  client's writes and reads", "", &cost::calls, goal::shown, 0)};
}

}  // namespace holdfast::bench
