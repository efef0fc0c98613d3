#include "bench/measure.hpp"
#include "bench/redis/bare_master.hpp"
#include "bench/redis/rows.hpp"
#include "bench/shared_numbers.hpp"
#include "io/thread/latch.hpp"
#include "tests/process/child.hpp"
#include "wire/resp_writer.hpp"

#include <holdfast/session.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>

/// From the release of one process until another that waits has the lock, beside the script of a
/// release and the delivery of its message; and what a release costs when a thousand wait.

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;
using goal = figure::goal;

constexpr int hands = 200;
constexpr auto settle = 1ms;  ///< For the waiter to be asleep.
constexpr std::size_t waiters = 1'000;

enum number : std::size_t { turn, waiting, released_at, woken_at, taken };

std::uint64_t now_ns() { return static_cast<std::uint64_t>(now_us() * 1e3); }

void await(const shared_numbers& n, std::size_t which, std::uint64_t value) {
  while (n[which] != value) std::this_thread::sleep_for(50us);
}

/// `wait` takes the lock behind the holder and stamps when it knows; `take` and `release` are the
/// holder's.
template <class Wait, class Take, class Release>
double hand_over(Wait wait, Take take, Release release) {
  const shared_numbers n;
  auto waiter = process::child::fork([&] { return wait(n); });
  std::vector<double> took;
  for (std::uint64_t i = 1; i <= hands; ++i) {
    take();
    n[turn] = i;
    await(n, waiting, i);
    std::this_thread::sleep_for(settle);
    n[released_at] = now_ns();
    release();
    await(n, taken, i);
    took.push_back(static_cast<double>(n[woken_at] - n[released_at]) / 1e3);
  }
  if (waiter.wait() != 0) throw std::runtime_error("the waiter failed");
  return median(std::move(took));
}

double our_hand_over(const std::string& url) {
  auto s = holdfast::open(url);
  if (!s) throw std::runtime_error(s.error().message());
  std::optional<lock> held;
  return hand_over(
      [&](const shared_numbers& n) {
        auto mine = holdfast::open(url);
        for (std::uint64_t i = 1; i <= hands; ++i) {
          await(n, turn, i);
          n[waiting] = i;
          auto l = mine->acquire(lock_name("handed"), {.wait = 60s});
          n[woken_at] = now_ns();
          if (!l || !std::move(*l).release()) return 1;
          n[taken] = i;
        }
        return 0;
      },
      [&] { held.emplace(s->acquire(lock_name("handed"), {.wait = 60s}).value()); },
      [&] { static_cast<void>(std::move(*held).release()); });
}

double bare_hand_over(int port) {
  bare_master holder(port);
  std::uint64_t request = 0;
  return hand_over(
      [&](const shared_numbers& n) {
        bare_master mine(port);
        bare_nodes ear({port});
        ear.ask(0, mine.subscribe());
        for (std::uint64_t i = 1; i <= hands; ++i) {
          await(n, turn, i);
          mine.connection().ask(0, mine.enqueue("handed bare", i));
          n[waiting] = i;
          ear.ask(0, {});
          n[woken_at] = now_ns();
          mine.connection().ask(0, mine.leave("handed bare", i));
          n[taken] = i;
        }
        return 0;
      },
      [&] { holder.connection().ask(0, holder.enqueue("handed bare", ++request)); },
      [&] { holder.connection().ask(0, holder.leave("handed bare", request)); });
}

/// All of them want one lock, which `first` holds.
class herd {
 public:
  herd(std::vector<session>& all, bare_nodes& look) : left_(all.size()) {
    const std::string key = "holdfast:" + nonce_of(look) + ":x:wanted";
    std::string bytes;
    wire::resp_writer(bytes).command("ZCARD", key);
    const std::string there = ":" + std::to_string(all.size() + 1) + "\r\n";
    for (auto& s : all) {
      s.acquire(lock_name("wanted"), {.wait = 10min}, [this](result<lock> l) { granted(l); });
    }
    while (look.ask(0, bytes) != there) std::this_thread::sleep_for(10ms);
    // For the last of them to hear of it.
    std::this_thread::sleep_for(1s);
  }

  /// Each gets it and gives it back; how long that took in all.
  double drain(lock first) {
    const double begin = now_us();
    if (!std::move(first).release()) ++failed_;
    done_.wait();
    if (failed_ > 0) throw std::runtime_error(std::to_string(failed_.load()) + " waiters failed");
    return now_us() - begin;
  }

 private:
  void granted(result<lock>& l) {
    if (!l) ++failed_;
    if (l) std::move(*l).release([](const result<void>&) {});
    if (--left_ == 0) done_.open();
  }

  std::atomic<std::size_t> left_;
  std::atomic<std::size_t> failed_{};
  io::latch done_;
};

}  // namespace

figures measure_hand_over(const redis_servers& servers, const effort& e) {
  figure n{"release to the next waiter, p50", "us", {}, {}, goal::ratio_at_most, 2};
  for (int i = 0; i < e.rounds; ++i) {
    n.bare.push_back(bare_hand_over(servers.ports().front()));
    n.ours.push_back(our_hand_over(url_of(servers)));
  }
  return {n};
}

figures measure_herd(const redis_servers& servers, const effort& e) {
  figures all{{"a grant when 1000 wait", "us", {}, {}, goal::shown, 0},
              {"  scripts of all clients", "", {}, {}, goal::ours_at_most, 2.1},
              {"  messages", "", {}, {}, goal::ours_at_most, 1.01}};
  bare_nodes look(servers.ports());
  std::vector<session> sessions;
  for (std::size_t i = 0; i < waiters; ++i) {
    sessions.push_back(holdfast::open(url_of(servers), {.ttl = 60s}).value());
  }
  auto holder = holdfast::open(url_of(servers));
  if (!holder) throw std::runtime_error(holder.error().message());
  for (int i = 0; i < e.rounds; ++i) {
    auto held = holder->acquire(lock_name("wanted"), {.wait = 60s});
    if (!held) throw std::runtime_error(held.error().message());
    herd behind(sessions, look);
    reset_calls(look);
    all[0].ours.push_back(behind.drain(std::move(*held)) / waiters);
    all[1].ours.push_back(calls(look, "evalsha") / waiters);
    all[2].ours.push_back(calls(look, "publish") / waiters);
  }
  return all;
}

}  // namespace holdfast::bench
