#include "bench/engine_session.hpp"
#include "bench/measure.hpp"
#include "bench/redis/bare_nodes.hpp"
#include "bench/redis/redis_store.hpp"
#include "bench/redis/rows.hpp"

/// What a session costs while it holds one lock, and while it holds 100,000.

namespace holdfast::bench {

namespace {

using goal = figure::goal;

constexpr std::size_t many = 100'000;
constexpr int beats = 2'000;

struct beat_cost {
  double commands{};
  double bytes{};
  double us{};
};

/// Of one heartbeat.
beat_cost measure_beats(engine_session& h, const redis_store& store, bare_nodes& look) {
  std::vector<double> took;
  const auto commands = store.count().commands;
  const double bytes = info(look, "stats", "total_net_input_bytes");
  for (int i = 0; i < beats; ++i) {
    const double begin = now_us();
    h.beat();
    took.push_back(now_us() - begin);
  }
  return {.commands = static_cast<double>(store.count().commands - commands) / beats,
          .bytes = (info(look, "stats", "total_net_input_bytes") - bytes) / beats,
          .us = median(std::move(took))};
}

}  // namespace

figures measure_heartbeats(const redis_servers& servers, const effort& e) {
  figures all{{"commands for a heartbeat with 100000 locks; bare: 1",
               "",
               {},
               {},
               goal::ratio_at_most,
               1.05},
              {"  bytes to the server", "", {}, {}, goal::ratio_at_most, 1.05},
              {"  until it is answered, p50", "us", {}, {}, goal::ratio_at_most, 1.2}};
  const redis_store store(url_of(servers));
  bare_nodes look(servers.ports());
  engine_session one(store.engine());
  engine_session rich(store.engine());
  one.hold(1);
  rich.hold(many);
  for (int i = 0; i < e.rounds; ++i) {
    const auto b = measure_beats(one, store, look);
    const auto o = measure_beats(rich, store, look);
    all[0].bare.push_back(b.commands);
    all[0].ours.push_back(o.commands);
    all[1].bare.push_back(b.bytes);
    all[1].ours.push_back(o.bytes);
    all[2].bare.push_back(b.us);
    all[2].ours.push_back(o.us);
  }
  return all;
}

}  // namespace holdfast::bench
