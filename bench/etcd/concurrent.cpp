#include "bench/etcd/bare_etcd.hpp"
#include "bench/etcd/rows.hpp"
#include "bench/measure.hpp"
#include "bench/our_callers.hpp"
#include "bench/usage.hpp"
#include "io/thread/latch.hpp"

#include <holdfast/session.hpp>

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

/// Many callers at a time, each with a name of its own: acquire, release, and again.

namespace holdfast::bench {

namespace {

using goal = figure::goal;

class bare_callers {
 public:
  bare_callers(bare_etcd& on, std::size_t count, double seconds)
      : on_(on), left_(count), end_(now_us() + seconds * 1e6) {}
  std::uint64_t run() {
    on_.on_loop([this] {
      for (std::size_t i = 0, count = left_; i < count; ++i) begin("bare:" + std::to_string(i));
    });
    over_.wait();
    return pairs_;
  }

 private:
  void begin(const std::string& key) {
    on_.acquire(key, [this, key](std::int64_t revision) {
      on_.release(key, revision, [this, key] {
        ++pairs_;
        if (now_us() < end_) return begin(key);
        if (--left_ == 0) over_.open();
      });
    });
  }

  bare_etcd& on_;
  std::size_t left_;
  const double end_;
  std::uint64_t pairs_{};
  io::latch over_;
};

/// For one acquire and its release.
struct cost {
  double per_second{};
  double client_us{};
  double server_us{};
};

/// CPU of another process so far.
double cpu_seconds_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  // "PID (NAME) STATE ...": the 14th and the 15th are ticks of the program and of the kernel.
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user{};
  double system{};
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

class meter {
 public:
  explicit meter(pid_t server) : server_(server) {}
  cost read(std::uint64_t pairs) const {
    const auto n = static_cast<double>(pairs);
    return {.per_second = n / ((now_us() - began_) / 1e6),
            .client_us = (own_cpu_seconds() - client_cpu_) * 1e6 / n,
            .server_us = (cpu_seconds_of(server_) - server_cpu_) * 1e6 / n};
  }

 private:
  const pid_t server_;
  const double began_{now_us()};
  const double client_cpu_{own_cpu_seconds()};
  const double server_cpu_{cpu_seconds_of(server_)};
};

figure take(const std::vector<cost>& ours, const std::vector<cost>& bare, const std::string& name,
            const char* unit, double cost::*which, goal kind) {
  figure n{name, unit, {}, {}, kind, 0.8};
  for (const cost& c : ours) n.ours.push_back(c.*which);
  for (const cost& c : bare) n.bare.push_back(c.*which);
  return n;
}

}  // namespace

figures measure_etcd_concurrent(etcd_tests::servers& s, const effort& e) {
  auto own = holdfast::open(s.url("concurrent"));
  if (!own) throw std::runtime_error(own.error().message());
  bare_etcd bare(s.addresses());
  figures all;
  for (const std::size_t count : {std::size_t{16}, std::size_t{256}}) {
    std::vector<cost> ours;
    std::vector<cost> theirs;
    for (int i = 0; i < e.rounds; ++i) {
      const meter first(s.at(0).pid());
      theirs.push_back(first.read(bare_callers(bare, count, e.seconds).run()));
      const meter second(s.at(0).pid());
      ours.push_back(second.read(our_callers(*own, count).run(e.seconds)));
    }
    all.push_back(take(ours, theirs, std::to_string(count) + " callers: acquire + release", "1/s",
                       &cost::per_second, count == 256 ? goal::ratio_at_least : goal::shown));
    all.push_back(take(ours, theirs, "  client CPU", "us", &cost::client_us, goal::shown));
    all.push_back(take(ours, theirs, "  server CPU", "us", &cost::server_us, goal::shown));
  }
  return all;
}

}  // namespace holdfast::bench
