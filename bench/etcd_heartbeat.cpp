#include "bench/etcd_rows.hpp"
#include "bench/etcd_store.hpp"
#include "bench/measure.hpp"

#include <holdfast/session.hpp>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>

/// What keeping locks costs, however many they are.

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;
using goal = figure::goal;

constexpr std::size_t many = 100'000;
constexpr std::size_t under_way = 256;

std::vector<lock> hold_all(session& s, std::size_t count) {
  std::mutex mutex;
  std::vector<lock> held;
  std::atomic<std::size_t> waiting{};
  std::atomic<bool> failed{};
  for (std::size_t i = 0; i < count; ++i) {
    while (waiting >= under_way) std::this_thread::sleep_for(50us);
    ++waiting;
    s.acquire(lock_name("kept:" + std::to_string(i)), {}, [&](result<lock> l) {
      if (l) {
        const std::lock_guard hold(mutex);
        held.push_back(std::move(*l));
      } else {
        failed = true;
      }
      --waiting;
    });
  }
  while (waiting > 0) std::this_thread::sleep_for(50us);
  if (failed) throw std::runtime_error("a lock was not granted");
  return held;
}

/// Calls in ten seconds of a session that beats every one.
double calls_while_holding(const std::string& url, std::size_t count) {
  auto s = holdfast::open(url + "?node_timeout=1s", {.ttl = 3s});
  if (!s) throw std::runtime_error(s.error().message());
  const auto held = hold_all(*s, count);
  const etcd_store inside(s->url());
  const auto before = inside.calls();
  std::this_thread::sleep_for(10s);
  const auto calls = static_cast<double>(inside.calls() - before);
  if (!held.front().check()) throw std::runtime_error("the session was lost");
  return calls;
}

}  // namespace

figures measure_etcd_heartbeat(const etcd_tests::servers& s, const effort&) {
  figure n{"calls in 10 s while 100,000 are held; bare: one", "", {}, {}, goal::ratio_at_most, 1.2};
  n.bare.push_back(calls_while_holding(s.url("one"), 1));
  n.ours.push_back(calls_while_holding(s.url("many"), many));
  return {n};
}

}  // namespace holdfast::bench
