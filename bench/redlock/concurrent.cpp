#include "bench/our_callers.hpp"
#include "bench/redis/cost.hpp"
#include "bench/redlock/bare_redlock.hpp"
#include "bench/redlock/redlock_store.hpp"
#include "bench/redlock/rows.hpp"

#include <holdfast/redlock.hpp>
#include <holdfast/session.hpp>

#include <stdexcept>

/// Many callers at a time, each with a name of its own: acquire, release, and again.

namespace holdfast::bench {

namespace {

using goal = figure::goal;

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

comparison compare(const redis_servers& servers, bool tokens, std::size_t count, const effort& e) {
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

}  // namespace

figures measure_concurrent(redis_servers& s, const effort& e) {
  figures all;
  for (const bool tokens : {false, true}) {
    for (const std::size_t count : {std::size_t{64}, std::size_t{1'024}}) {
      const auto c = compare(s, tokens, count, e);
      const std::string of = std::to_string(count) + (tokens ? " callers, tokens" : " callers");
      const bool held = !tokens && count == 1'024;
      all.push_back(
          c.take(of + ": acquire + release", "1/s", &cost::per_second, goal::ratio_at_least, 0.8));
      all.push_back(c.take("  client CPU", "us", &cost::client_us,
                           held ? goal::ratio_at_most : goal::shown, 2));
      all.push_back(c.take("  server CPU, all five", "us", &cost::server_us,
                           held ? goal::ratio_at_most : goal::shown, 1.1));
      all.push_back(c.take("  client's writes and reads", "", &cost::calls,
                           held ? goal::ours_at_most : goal::shown, 0.5));
    }
  }
  return all;
}

figures measure_durable(const effort& e) {
  const redis_servers servers(node_count, {"--appendonly", "yes", "--appendfsync", "always"});
  const auto c = compare(servers, false, 1'024, e);
  return {c.take("appendfsync always, 1024 callers", "1/s", &cost::per_second, goal::ratio_at_least,
                 0.8)};
}

}  // namespace holdfast::bench
