#include "io/thread/condition.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

TEST(condition, gives_the_mutex_away_while_it_waits) {
  mutex m;
  condition changed;
  bool ready = false;
  held_mutex hold(m);
  std::thread other([&] {
    const held_mutex mine(m);
    ready = true;
    changed.notify_all();
  });
  const auto limit = steady_clock::now() + 20s;
  while (!ready && changed.wait_until(m, limit)) {
  }
  EXPECT_TRUE(ready);
  hold.unlock();
  other.join();
}

TEST(condition, waits_for_as_long_as_it_takes) {
  mutex m;
  condition changed;
  bool ready = false;
  held_mutex hold(m);
  std::thread other([&] {
    std::this_thread::sleep_for(20ms);
    const held_mutex mine(m);
    ready = true;
    changed.notify_one();
  });
  while (!ready) changed.wait(m);
  hold.unlock();
  other.join();
}

TEST(condition, a_time_that_has_come_ends_the_wait) {
  mutex m;
  condition changed;
  const auto until = steady_clock::now() + 10ms;
  const held_mutex hold(m);
  while (changed.wait_until(m, until)) {
  }
  EXPECT_GE(steady_clock::now(), until);
}

TEST(condition, has_the_mutex_again_after_the_wait) {
  mutex m;
  condition changed;
  int count = 0;
  const auto add = [&] {
    for (int i = 0; i < 1'000; ++i) {
      const held_mutex hold(m);
      (void)changed.wait_until(m, steady_clock::now());
      const int before = count;
      std::this_thread::yield();
      count = before + 1;
    }
  };
  std::vector<std::thread> all;
  for (int i = 0; i < 3; ++i) all.emplace_back(add);
  for (auto& t : all) t.join();
  EXPECT_EQ(count, 3'000);
}

TEST(held_mutex, is_free_between_unlock_and_lock_and_at_the_end) {
  mutex m;
  std::atomic<int> taken{};
  const auto take = [&] {
    const held_mutex mine(m);
    ++taken;
  };
  const auto reaches = [&](int count) {
    for (int n = 0; n < 2'000 && taken < count; ++n) std::this_thread::sleep_for(10ms);
    return taken == count;
  };
  std::vector<std::thread> all;
  {
    held_mutex hold(m);
    hold.unlock();
    all.emplace_back(take);
    EXPECT_TRUE(reaches(1));
    hold.lock();
    all.emplace_back(take);
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(taken, 1);
  }
  EXPECT_TRUE(reaches(2));
  for (auto& t : all) t.join();
}

}  // namespace
}  // namespace holdfast::io
