#include "core/redlock/clock_watch.hpp"
#include "core/start_fixture.hpp"

#include "gtest/gtest.h"

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;
using verdict = clock_watch::verdict;

constexpr duration window = 60s;
const server_time wall{1'700'000'000s};

struct watched {
  clock_watch w{window};
  server_time ahead{};  ///< What the node's clock was stepped by.
  duration trip{1ms};
  verdict at(duration since) {
    const auto server = std::chrono::duration_cast<server_time>(since + trip / 2);
    return w.sample(wall + ahead + server, t0 + since, t0 + since + trip);
  }
};

TEST(clock_watch, a_steady_clock_stays_steady_for_days) {
  watched x;
  for (duration since{}; since < 72h; since += 7s) ASSERT_EQ(x.at(since), verdict::steady);
}

TEST(clock_watch, drift_below_rho_is_no_step) {
  clock_watch w(window);
  for (int i = 0; i < 1000; ++i) {
    const auto server = std::chrono::duration_cast<server_time>(i * 1005ms);
    ASSERT_EQ(w.sample(wall + server, t0 + i * 1s, t0 + i * 1s + 1ms), verdict::steady);
  }
}

TEST(clock_watch, finds_steps_in_both_directions) {
  watched x;
  EXPECT_EQ(x.at(0s), verdict::steady);
  x.ahead = 3600s;
  EXPECT_EQ(x.at(1s), verdict::stepped_forward);
  EXPECT_EQ(x.at(2s), verdict::steady) << "it goes on from there";
  x.ahead = 0s;
  EXPECT_EQ(x.at(3s), verdict::stepped_back);
}

TEST(clock_watch, finds_a_clock_that_stands_still) {
  clock_watch w(window);
  EXPECT_EQ(w.sample(wall, t0, t0 + 1ms), verdict::steady);
  EXPECT_EQ(w.sample(wall, t0 + 1s, t0 + 1s + 1ms), verdict::stepped_back);
}

TEST(clock_watch, small_steps_within_one_window_add_up) {
  watched x;
  verdict v = verdict::steady;
  int steps = 0;
  // 15 ms a second is below what one second's samples can tell, and above rho.
  for (; v == verdict::steady && steps < 50; ++steps) {
    x.ahead += 15ms;
    v = x.at(steps * 1s);
  }
  EXPECT_EQ(v, verdict::stepped_forward);
  EXPECT_LT(steps, 10);
}

TEST(clock_watch, small_steps_within_one_lease_add_up_though_the_window_was_shorter) {
  for (const duration lease : {duration(1s), duration(60s)}) {
    clock_watch w(1s);
    w.cover(lease);
    // 0.2 ms a second above rho: within the margin for some seconds, and not for a minute.
    bool stepped = false;
    for (int i = 0; i < 60; ++i) {
      const server_time server = i * 1'010'200us;
      stepped = stepped || w.sample(wall + server, t0 + i * 1s, t0 + i * 1s) != verdict::steady;
    }
    EXPECT_EQ(stepped, lease > 1s);
  }
}

TEST(clock_watch, a_slow_answer_is_no_step) {
  watched x;
  x.at(0s);
  x.trip = 5s;
  EXPECT_EQ(x.at(1s), verdict::steady);
  x.trip = 1ms;
  EXPECT_EQ(x.at(10s), verdict::steady);
}

}  // namespace
}  // namespace holdfast::core::redlock
