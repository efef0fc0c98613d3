#include "bench/engine_session.hpp"
#include "bench/measure.hpp"
#include "bench/redis/bare_nodes.hpp"
#include "bench/redis/redis_store.hpp"
#include "bench/redis/rows.hpp"

#include <holdfast/session.hpp>

#include <memory>
#include <stdexcept>
#include <vector>

/// What locks, sessions and waiters take in the server, and what a synced disk costs.

namespace holdfast::bench {

namespace {

using goal = figure::goal;

constexpr std::size_t locks = 50'000;
constexpr std::size_t sessions = 2'000;
constexpr std::size_t ahead = 1'000;

double memory(bare_nodes& look) { return info(look, "memory", "used_memory"); }

double acquire_and_release_us(const redis_servers& servers, double seconds) {
  auto s = holdfast::open(url_of(servers));
  if (!s) throw std::runtime_error(s.error().message());
  std::vector<double> took;
  for (const double end = now_us() + seconds * 1e6; now_us() < end;) {
    const double begin = now_us();
    if (!std::move(s->acquire(lock_name("x")).value()).release()) {
      throw std::runtime_error("a release failed");
    }
    took.push_back(now_us() - begin);
  }
  return median(std::move(took));
}

}  // namespace

figures measure_sizes(const redis_servers& servers, const effort& e) {
  figures all{{"memory for a lock with a short name", "B", {}, {}, goal::shown, 0},
              {"memory for a session", "B", {}, {}, goal::shown, 0},
              {"a listing, for each lock and session", "us", {}, {}, goal::shown, 0},
              {"to begin to wait behind 1000, for each of them", "us", {}, {}, goal::shown, 0}};
  const redis_store store(url_of(servers));
  bare_nodes look(servers.ports());
  for (int i = 0; i < e.rounds; ++i) {
    std::vector<std::unique_ptr<engine_session>> every;
    double before = memory(look);
    for (std::size_t k = 0; k < sessions; ++k) {
      every.push_back(std::make_unique<engine_session>(store.engine()));
    }
    all[1].ours.push_back((memory(look) - before) / sessions);
    before = memory(look);
    every.front()->hold(locks);
    all[0].ours.push_back((memory(look) - before) / locks);
    const double listed = now_us();
    const auto count = count_all(store.engine());
    all[2].ours.push_back((now_us() - listed) / static_cast<double>(count));
    for (std::size_t k = 0; k < ahead; ++k) every[k]->enqueue("wanted");
    const double asked = now_us();
    every[ahead]->enqueue("wanted");
    all[3].ours.push_back((now_us() - asked) / ahead);
    for (auto& s : every) s->close();
  }
  return all;
}

figures measure_synced(const redis_servers& servers, const effort& e) {
  figure n{
      "acquire + release with appendfsync always; bare: without", "us", {}, {}, goal::shown, 0};
  const redis_servers durable(1, {"--appendonly", "yes", "--appendfsync", "always"});
  for (int i = 0; i < e.rounds; ++i) {
    n.bare.push_back(acquire_and_release_us(servers, e.seconds));
    n.ours.push_back(acquire_and_release_us(durable, e.seconds));
  }
  return {n};
}

}  // namespace holdfast::bench
