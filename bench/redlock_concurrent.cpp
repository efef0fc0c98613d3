#include "bench/bare_redlock.hpp"
#include "bench/measure.hpp"
#include "bench/redlock_rows.hpp"
#include "bench/redlock_store.hpp"
#include "io/latch.hpp"

#include <holdfast/redlock.hpp>
#include <holdfast/session.hpp>

#include <sys/resource.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <stdexcept>

/// Many callers at a time, each with a name of its own: acquire, release, and again.

namespace holdfast::bench {

namespace {

using goal = redlock_number::goal;

/// What one side did in one stretch, for one acquire and release.
struct cost {
  double per_second{};
  double client_us{};
  double server_us{};
  double calls{};
};

class meter {
 public:
  explicit meter(const redlock_servers& s) : servers_(s) {}
  cost read(std::uint64_t pairs, std::uint64_t calls) const {
    const auto n = static_cast<double>(pairs);
    return {.per_second = n / ((now_us() - began_) / 1e6),
            .client_us = (own_cpu_seconds() - client_) * 1e6 / n,
            .server_us = (servers_.cpu_seconds() - server_) * 1e6 / n,
            .calls = static_cast<double>(calls) / n};
  }

 private:
  const redlock_servers& servers_;
  const double began_{now_us()};
  const double client_{own_cpu_seconds()};
  const double server_{servers_.cpu_seconds()};
};

/// Callers that live in the library's callbacks.
class our_callers {
 public:
  our_callers(session& s, std::size_t count) : session_(s) {
    for (std::size_t i = 0; i < count; ++i) names_.push_back("ours:" + std::to_string(i));
  }

  std::uint64_t run(double seconds) {
    end_ = now_us() + seconds * 1e6;
    left_ = names_.size();
    for (std::size_t i = 0; i < names_.size(); ++i) begin(i);
    done_.wait();
    if (failure_) throw std::runtime_error(*failure_);
    return pairs_;
  }

 private:
  void begin(std::size_t i) {
    session_.acquire(lock_name(names_[i]), {}, [this, i](result<lock> l) {
      if (!l) return failed(l.error());
      std::move(*l).release([this, i](result<void> r) {
        if (!r) return failed(r.error());
        ++pairs_;
        if (now_us() < end_) return begin(i);
        ended();
      });
    });
  }
  void failed(const error& e) {
    {
      const std::lock_guard hold(mutex_);
      if (!failure_) failure_ = e.message();
    }
    ended();
  }
  void ended() {
    if (--left_ == 0) done_.open();
  }

  session& session_;
  std::vector<std::string> names_;
  double end_{};
  std::atomic<std::size_t> left_{};
  std::atomic<std::uint64_t> pairs_{};
  std::mutex mutex_;
  std::optional<std::string> failure_;
  io::latch done_;
};

/// The same in a bare loop: held at the majority, released at once, over when all have answered.
class bare_callers {
 public:
  bare_callers(bare_nodes& on, const bare_texts& texts, std::size_t count)
      : nodes_(on), texts_(texts), all_(count) {
    for (std::size_t i = 0; i < count; ++i) all_[i].name = "bare:" + std::to_string(i);
  }

  std::uint64_t run(double seconds) {
    const double end = now_us() + seconds * 1e6;
    left_ = all_.size();
    for (std::size_t i = 0; i < all_.size(); ++i) acquire(i);
    while (left_ > 0) {
      nodes_.flush();
      bool over = now_us() >= end;
      nodes_.turn([&](const bare_nodes::answer& a) { take(a, over); });
    }
    return pairs_;
  }

 private:
  struct caller {
    std::string name;
    std::string value;
    std::size_t yes{};
    std::size_t left{};
    bool releasing{};
  };

  void acquire(std::size_t i) {
    caller& c = all_[i];
    c.value = texts_.value(++number_);
    c.yes = c.left = 0;
    c.releasing = false;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      texts_.acquire(bytes_, n, c.name, c.value, newest_);
      nodes_.queue(n, bytes_, i * 2);
    }
  }
  void take(const bare_nodes::answer& a, bool over) {
    const std::size_t i = a.tag / 2;
    caller& c = all_[i];
    if (a.tag % 2 == 0) {
      if (texts_.tokens && a.number > newest_) newest_ = a.number;
      if (!a.yes || ++c.yes != nodes_.majority()) return;
      c.left = nodes_.size();
      texts_.release(bytes_, c.name, c.value);
      nodes_.queue_all(bytes_, i * 2 + 1);
      return;
    }
    if (--c.left > 0) return;
    ++pairs_;
    if (over) {
      --left_;
    } else {
      acquire(i);
    }
  }

  bare_nodes& nodes_;
  const bare_texts& texts_;
  std::vector<caller> all_;
  std::string bytes_;
  std::size_t left_{};
  std::uint64_t pairs_{};
  std::uint64_t newest_{};
  static inline std::uint64_t number_{1'000'000'000};
};

struct comparison {
  std::vector<cost> ours;
  std::vector<cost> bare;
};

comparison compare(const redlock_servers& servers, bool tokens, std::size_t count,
                   const redlock_effort& e) {
  const std::string url = url_of(servers.ports(), tokens ? tokens_on : tokens_off);
  auto s = holdfast::open(url);
  if (!s) throw std::runtime_error(s.error().message());
  const redlock_store store(url);
  bare_nodes nodes(servers.ports());
  const bare_texts texts(nodes, tokens);
  comparison all;
  for (int i = 0; i < e.rounds; ++i) {
    {
      const meter m(servers);
      const auto calls = nodes.calls();
      const auto pairs = bare_callers(nodes, texts, count).run(e.seconds);
      all.bare.push_back(m.read(pairs, nodes.calls() - calls));
    }
    const meter m(servers);
    const auto calls = store.calls();
    const auto pairs = our_callers(*s, count).run(e.seconds);
    all.ours.push_back(m.read(pairs, store.calls() - calls));
  }
  return all;
}

redlock_number take(const comparison& c, const std::string& name, const char* unit,
                    double cost::*which, goal kind, double limit) {
  redlock_number n{name, unit, {}, {}, kind, limit};
  for (const cost& x : c.ours) n.ours.push_back(x.*which);
  for (const cost& x : c.bare) n.bare.push_back(x.*which);
  return n;
}

}  // namespace

redlock_numbers measure_concurrent(redlock_servers& s, const redlock_effort& e) {
  redlock_numbers all;
  for (const bool tokens : {false, true}) {
    for (const std::size_t count : {std::size_t{64}, std::size_t{1'024}}) {
      const auto c = compare(s, tokens, count, e);
      const std::string of = std::to_string(count) + (tokens ? " callers, tokens" : " callers");
      const bool held = !tokens && count == 1'024;
      all.push_back(
          take(c, of + ": acquire + release", "1/s", &cost::per_second, goal::ratio_at_least, 0.8));
      all.push_back(take(c, "  client CPU", "us", &cost::client_us,
                         held ? goal::ratio_at_most : goal::shown, 2));
      all.push_back(take(c, "  server CPU, all five", "us", &cost::server_us,
                         held ? goal::ratio_at_most : goal::shown, 1.1));
      all.push_back(take(c, "  client's writes and reads", "", &cost::calls,
                         held ? goal::ours_at_most : goal::shown, 0.5));
    }
  }
  return all;
}

redlock_numbers measure_durable(const redlock_effort& e) {
  const redlock_servers servers({"--appendonly", "yes", "--appendfsync", "always"});
  const auto c = compare(servers, false, 1'024, e);
  return {take(c, "appendfsync always, 1024 callers", "1/s", &cost::per_second,
               goal::ratio_at_least, 0.8)};
}

}  // namespace holdfast::bench
