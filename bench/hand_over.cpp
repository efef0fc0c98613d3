#include "bench/measure.hpp"
#include "bench/shared_numbers.hpp"
#include "tests/process/child.hpp"

#include <holdfast/session.hpp>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

/// From the moment a holder starts to release until a waiter that is blocked in another process
/// has the lock, beside a bare futex: from the store and wake to the woken process.

namespace holdfast::bench {

using namespace std::chrono_literals;

namespace {

constexpr int hands = 100;
constexpr auto settle = 1ms;  ///< For the waiter to be asleep.

enum number : std::size_t { word, released_at, woken_at, turn, waiting };

std::uint64_t now_ns() { return static_cast<std::uint64_t>(now_us() * 1e3); }

double took_us(const shared_numbers& n) {
  return static_cast<double>(n[woken_at] - n[released_at]) / 1e3;
}

void await(const shared_numbers& n, std::size_t which, std::uint64_t value) {
  while (n[which] != value) std::this_thread::sleep_for(50us);
}

long futex(std::atomic<std::uint64_t>& w, int operation, unsigned value) {
  return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&w), operation, value, nullptr,
                   nullptr, 0);
}

double bare_hand_over() {
  const shared_numbers n;
  auto waiter = process::child::fork([&] {
    for (unsigned i = 1; i <= hands; ++i) {
      n[waiting] = i;
      while (static_cast<std::uint32_t>(n[word]) != i) futex(n[word], FUTEX_WAIT, i - 1);
      n[woken_at] = now_ns();
      n[turn] = i;
    }
    return 0;
  });
  std::vector<double> took;
  for (unsigned i = 1; i <= hands; ++i) {
    await(n, waiting, i);
    std::this_thread::sleep_for(settle);
    n[released_at] = now_ns();
    n[word] = i;
    futex(n[word], FUTEX_WAKE, 1);
    await(n, turn, i);
    took.push_back(took_us(n));
  }
  waiter.wait();
  return median(took);
}

double lock_hand_over(const std::string& url) {
  const shared_numbers n;
  const lock_name name("x");
  auto waiter = process::child::fork([&] {
    auto s = holdfast::open(url);
    for (unsigned i = 1; i <= hands; ++i) {
      await(n, word, i);
      n[waiting] = i;
      auto l = s->acquire(name, {.wait = 10s});
      n[woken_at] = now_ns();
      static_cast<void>(std::move(l.value()).release());
      n[turn] = i;
    }
    return 0;
  });
  auto s = holdfast::open(url);
  std::vector<double> took;
  for (unsigned i = 1; i <= hands; ++i) {
    auto l = s->acquire(name, {.wait = 10s});
    n[word] = i;
    await(n, waiting, i);
    std::this_thread::sleep_for(settle);
    n[released_at] = now_ns();
    static_cast<void>(std::move(l.value()).release());
    await(n, turn, i);
    took.push_back(took_us(n));
  }
  waiter.wait();
  return median(took);
}

sample hand_over(const std::string& directory) {
  std::vector<double> ours, bare;
  for (int i = 0; i < 3; ++i) {
    bare.push_back(bare_hand_over());
    ours.push_back(lock_hand_over("local:" + directory + "/store"));
  }
  return {median(ours), median(bare)};
}

}  // namespace

std::vector<measure> hand_over_rows() {
  return {{"hand-over to a waiter in another process", "us", "bare futex hand-over",
           bar::ratio_at_most, 4, 0, hand_over}};
}

}  // namespace holdfast::bench
