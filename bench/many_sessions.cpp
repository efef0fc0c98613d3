#include "bench/many_sessions.hpp"

#include "bench/engine_session.hpp"
#include "bench/measure.hpp"
#include "io/thread/latch.hpp"
#include "tests/process/child.hpp"

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t under_way = 256;

session join(const std::string& url, duration ttl) {
  auto s = holdfast::open(url, {.ttl = ttl});
  if (!s) throw std::runtime_error(s.error().message());
  return std::move(*s);
}

lock hold(session& s, const char* name) {
  auto l = s.acquire(lock_name(name), {.wait = 60s});
  if (!l) throw std::runtime_error(l.error().message());
  return std::move(*l);
}

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
        const std::lock_guard hold_mutex(mutex);
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

}  // namespace

void call_count::settle() const {
  for (std::uint64_t before = 0; before != calls();) {
    before = calls();
    std::this_thread::sleep_for(300ms);
  }
}

void settle() { std::this_thread::sleep_for(5ms); }

double hand_over_p50(session& first, session& second, double seconds) {
  std::vector<double> took;
  session* holder = &first;
  session* next = &second;
  std::optional<lock> held = hold(*holder, "handed");
  for (const double end = now_us() + seconds * 1e6; now_us() < end;) {
    std::optional<lock> got;
    double noticed = 0;
    io::latch done;
    next->acquire(lock_name("handed"), {.wait = 60s}, [&](result<lock> l) {
      noticed = now_us();
      if (l) got.emplace(std::move(*l));
      done.open();
    });
    settle();
    const double begin = now_us();
    io::latch released;
    std::move(*held).release([&](const result<void>&) { released.open(); });
    done.wait();
    released.wait();
    if (!got) throw std::runtime_error("a waiter got nothing");
    took.push_back(noticed - begin);
    held.emplace(std::move(*got));
    std::swap(holder, next);
  }
  return median(std::move(took));
}

herd measure_herd(core::engine& e, const call_count& inside, std::size_t waiters) {
  std::atomic<int> notified{};
  std::vector<std::unique_ptr<engine_session>> all;
  for (std::size_t i = 0; i <= waiters; ++i) {
    all.push_back(std::make_unique<engine_session>(e));
    all.back()->enqueue("wanted");
    if (i > 0) all.back()->watch([&notified] { ++notified; });
  }
  inside.settle();
  notified = 0;
  const auto before = inside.calls();
  all[0]->leave();
  if (!process::eventually([&] { return notified > 0; }))
    throw std::runtime_error("nobody was notified");
  if (!all[1]->confirm()) throw std::runtime_error("the first waiter does not hold it");
  inside.settle();
  return {static_cast<double>(inside.calls() - before), static_cast<double>(notified)};
}

double calls_while_holding(const std::string& url, std::size_t count, const counted& inside) {
  auto s = join(url + "?node_timeout=1s", 3s);
  const auto held = hold_all(s, count);
  const auto all = inside(s.url());
  const auto before = all->calls();
  std::this_thread::sleep_for(10s);
  const auto calls = static_cast<double>(all->calls() - before);
  if (!held.front().check()) throw std::runtime_error("the session was lost");
  return calls;
}

}  // namespace holdfast::bench
