#include "bench/measure.hpp"
#include "bench/redlock/bare_hand_over.hpp"
#include "bench/redlock/rows.hpp"

#include <holdfast/session.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <new>
#include <stdexcept>
#include <thread>

/// Sixteen who want one lock: as threads of one process with a session each, and as processes.
/// Beside them a bare loop that hands it to and fro, as it would between two processes.

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;
using goal = figure::goal;

constexpr std::size_t waiters = 16;
constexpr std::size_t grants_max = 1'000;
constexpr std::size_t drained_each = 3;
constexpr auto held_for = 300us;

/// What all of them share, also across processes.
struct board {
  std::atomic<std::size_t> ready{};
  std::atomic<bool> go{};
  std::atomic<std::uint64_t> began_at{};     ///< In nanoseconds, as the next two.
  std::atomic<std::uint64_t> released_at{};  ///< When a release began.
  std::atomic<std::uint64_t> free_at{};      ///< When one was confirmed.
  std::atomic<std::size_t> grants{};
  std::atomic<std::size_t> failures{};
  std::atomic<std::size_t> done{};
  std::array<std::atomic<std::size_t>, waiters> each{};
  std::array<std::atomic<std::uint64_t>, grants_max> took{};
};

class shared_board {
 public:
  shared_board() {
    void* at =
        ::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("mmap");
    at_ = new (at) board;
  }
  shared_board(const shared_board&) = delete;
  shared_board& operator=(const shared_board&) = delete;
  ~shared_board() { ::munmap(at_, sizeof(board)); }
  board* operator->() const { return at_; }
  board& operator*() const { return *at_; }

 private:
  board* at_;
};

std::uint64_t now_ns() { return static_cast<std::uint64_t>(now_us() * 1e3); }

/// Takes the lock until there were `most` grants in all, or `own` of its own.
void take_often(board& b, result<session>& s, std::size_t me, std::size_t most, std::size_t own,
                duration hold) {
  while (s && b.grants < most && b.each[me] < own) {
    auto l = s->acquire(lock_name("wanted"), {.wait = 20s});
    const std::uint64_t now = now_ns();
    if (!l) {
      ++b.failures;
      return;
    }
    const std::size_t k = b.grants++;
    if (k < most) {
      if (k > 0) b.took[k] = now - b.released_at;
      ++b.each[me];
    }
    if (hold > duration::zero()) std::this_thread::sleep_for(hold);
    b.released_at = now_ns();
    if (auto r = std::move(*l).release(); !r) ++b.failures;
    b.free_at = now_ns();
  }
  if (!s) ++b.failures;
}

/// The same as one of them all. Each stays until all are done: the end of a process costs as much
/// as some grants, and is none.
void contend(board& b, const std::string& url, std::size_t me, std::size_t most, std::size_t own,
             duration hold) {
  auto s = holdfast::open(url);
  ++b.ready;
  while (!b.go) std::this_thread::sleep_for(100us);
  take_often(b, s, me, most, own, hold);
  ++b.done;
  while (b.done < waiters) std::this_thread::sleep_for(2ms);
}

void run(const shared_board& b, bool processes, const std::function<void(std::size_t)>& body) {
  std::vector<std::thread> threads;
  std::vector<process::child> children;
  for (std::size_t i = 0; i < waiters; ++i) {
    if (processes) {
      children.push_back(process::child::fork([&, i] {
        body(i);
        return 0;
      }));
    } else {
      threads.emplace_back(body, i);
    }
  }
  while (b->ready < waiters) std::this_thread::sleep_for(1ms);
  b->began_at = now_ns();
  b->go = true;
  for (auto& t : threads) t.join();
  for (auto& c : children) {
    if (c.wait(60s) != 0) ++b->failures;
  }
  if (b->failures > 0) {
    throw std::runtime_error(std::to_string(b->failures.load()) + " waiters failed");
  }
}

/// 1: all have the same share; 1/n: one has everything.
double jain_index(const board& b) {
  double sum = 0;
  double squares = 0;
  for (const auto& n : b.each) {
    const auto x = static_cast<double>(n.load());
    sum += x;
    squares += x * x;
  }
  return sum * sum / (static_cast<double>(waiters) * squares);
}

void take_bare(const redis_servers& servers, figures& all) {
  bare_hand_over loop(servers.ports());
  const double cpu = servers.cpu_seconds();
  const auto took = loop.run(grants_max, std::chrono::duration<double>(held_for).count());
  const double used = servers.cpu_seconds() - cpu;
  all[0].bare.push_back(percentile(took, 0.5));
  all[1].bare.push_back(percentile(took, 0.99));
  all[2].bare.push_back(used * 1e6 / static_cast<double>(grants_max));
}

figures hand_over(const redis_servers& servers, bool processes, const std::string& what,
                  const effort& e) {
  figures all{
      {"release to the next of 16 " + what + ", p50", "us", {}, {}, goal::ours_at_most, 250},
      {"  p99", "us", {}, {}, goal::ours_at_most, 1'000},
      {"  server CPU for a grant", "us", {}, {}, goal::ours_at_most, 400},
      {"  Jain index over 1000 grants", "", {}, {}, goal::ours_at_least, 0.99}};
  const std::string url = url_of(servers.ports(), tokens_off);
  for (int i = 0; i < e.rounds; ++i) {
    const shared_board b;
    const double cpu = servers.cpu_seconds();
    run(b, processes,
        [&](std::size_t me) { contend(*b, url, me, grants_max, grants_max, held_for); });
    const double used = servers.cpu_seconds() - cpu;
    std::vector<double> took;
    for (std::size_t k = 1; k < grants_max; ++k) {
      took.push_back(static_cast<double>(b->took[k]) / 1e3);
    }
    all[0].ours.push_back(percentile(took, 0.5));
    all[1].ours.push_back(percentile(took, 0.99));
    all[2].ours.push_back(used * 1e6 / static_cast<double>(b->grants));
    all[3].ours.push_back(jain_index(*b));
    take_bare(servers, all);
  }
  return all;
}

figure drain(const redis_servers& servers, bool processes, const std::string& what,
             const effort& e) {
  figure n{"16 " + what + " drain one lock, 3 times each", "ms", {}, {}, goal::ours_at_most, 20};
  for (int i = 0; i < e.rounds; ++i) {
    const shared_board b;
    run(b, processes, [&](std::size_t me) {
      contend(*b, url_of(servers.ports(), tokens_off), me, grants_max, drained_each,
              duration::zero());
    });
    n.ours.push_back(static_cast<double>(b->free_at - b->began_at) / 1e6);
    bare_hand_over loop(servers.ports());
    const double began = now_us();
    loop.run(waiters * drained_each, 0);
    n.bare.push_back((now_us() - began) / 1e3);
  }
  return n;
}

}  // namespace

figures measure_waiters(redis_servers& s, const effort& e) {
  figures all = hand_over(s, false, "threads", e);
  for (auto& n : hand_over(s, true, "processes", e)) all.push_back(std::move(n));
  all.push_back(drain(s, false, "threads", e));
  all.push_back(drain(s, true, "processes", e));
  return all;
}

}  // namespace holdfast::bench
