#include "bench/our_callers.hpp"
#include "bench/redlock/bare_redlock.hpp"
#include "bench/redlock/delay_proxy.hpp"
#include "bench/redlock/rows.hpp"

#include <holdfast/session.hpp>

#include "wire/resp_writer.hpp"

#include <chrono>
#include <stdexcept>

/// One caller that waits for each answer, and the same with 1 ms between it and the servers.

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;
using goal = figure::goal;

double bare_p50(bare_nodes& nodes, const bare_texts& texts, double seconds) {
  static std::uint64_t number = 0;
  bare_caller caller(nodes, texts);
  std::vector<double> took;
  for (const stretch t(seconds); !t.is_over();) {
    const std::string name = "bare:" + std::to_string(took.size() % 1'000);
    const double begin = now_us();
    const std::string value = texts.value(++number);
    const bool got = caller.acquire(name, value);
    took.push_back(now_us() - begin);
    if (!got || !caller.release(name, value)) throw std::runtime_error("the bare loop failed");
  }
  return median(std::move(took));
}

figure compare(const std::string& name, const std::vector<int>& ports, bool tokens, double limit,
               const effort& e) {
  figure n{name, "us", {}, {}, goal::ratio_at_most, limit};
  auto s = holdfast::open(url_of(ports, tokens ? tokens_on : tokens_off));
  if (!s) throw std::runtime_error(s.error().message());
  bare_nodes nodes(ports);
  const bare_texts texts(nodes, tokens);
  for (int i = 0; i < e.rounds; ++i) {
    n.bare.push_back(bare_p50(nodes, texts, e.seconds));
    n.ours.push_back(our_p50(*s, e.seconds));
  }
  return n;
}

/// One command there and back.
double round_trip_p50(bare_nodes& nodes, double seconds) {
  std::string bytes;
  wire::resp_writer(bytes).command("PING");
  std::vector<double> took;
  for (const stretch t(seconds); !t.is_over();) {
    const double begin = now_us();
    nodes.ask(0, bytes);
    took.push_back(now_us() - begin);
  }
  return median(std::move(took));
}

}  // namespace

figures measure_sequential(redis_servers& s, const effort& e) {
  return {compare("acquire, one caller, p50, tokens=off", s.ports(), false, 1.15, e),
          compare("acquire, one caller, p50, tokens", s.ports(), true, 1.4, e)};
}

figures measure_delayed(redis_servers& s, const effort& e) {
  const delay_proxy proxy(s.ports(), 500us);
  figure n{"acquire at a round trip of 1 ms, p50, tokens=off; bare: PING",
           "us",
           {},
           {},
           goal::ratio_at_most,
           1.03};
  auto session = holdfast::open(url_of(proxy.ports(), tokens_off));
  if (!session) throw std::runtime_error(session.error().message());
  bare_nodes nodes(proxy.ports());
  for (int i = 0; i < e.rounds; ++i) {
    n.bare.push_back(round_trip_p50(nodes, e.seconds));
    n.ours.push_back(our_p50(*session, e.seconds));
  }
  return {n, compare("  the same, bare: the majority loop", proxy.ports(), false, 1.03, e)};
}

}  // namespace holdfast::bench
