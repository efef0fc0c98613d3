#include "core/redlock/clock_watch.hpp"

#include "core/lease.hpp"
#include "core/start_fixture.hpp"

#include <holdfast/duration.hpp>

#include "gtest/gtest.h"

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;
using verdict = clock_watch::verdict;

const server_time wall{1'700'000'000s};

struct watched {
  clock_watch w;
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
  clock_watch w;
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
  clock_watch w;
  EXPECT_EQ(w.sample(wall, t0, t0 + 1ms), verdict::steady);
  EXPECT_EQ(w.sample(wall, t0 + 1s, t0 + 1s + 1ms), verdict::stepped_back);
}

TEST(clock_watch, small_steps_add_up) {
  watched x;
  verdict v = verdict::steady;
  int steps = 0;
  // 11 ms a second is below what one second's samples can tell, and above rho.
  for (; v == verdict::steady && steps < 50; ++steps) {
    x.ahead += 11ms;
    v = x.at(steps * 1s);
  }
  EXPECT_EQ(v, verdict::stepped_forward);
  EXPECT_LT(steps, 7);
}

TEST(clock_watch, small_steps_back_add_up) {
  watched x;
  verdict v = verdict::steady;
  int steps = 0;
  for (; v == verdict::steady && steps < 50; ++steps) {
    x.ahead -= 11ms;
    v = x.at(steps * 1s);
  }
  EXPECT_EQ(v, verdict::stepped_back);
  EXPECT_LT(steps, 7);
}

/// A steady clock until `since`, and then one that is ahead by `step`.
bool is_seen(duration step, duration since, duration look) {
  watched x;
  for (duration t{}; t < since; t += look) EXPECT_EQ(x.at(t), verdict::steady);
  x.ahead = std::chrono::duration_cast<server_time>(step);
  return x.at(since) == verdict::stepped_forward;
}

TEST(clock_watch, a_step_is_seen_at_the_next_look_however_long_it_was_watched_before) {
  for (const duration look : {duration(33ms), duration(1s)}) {
    // rho of the time since the last look, the margin, and what the answers were under way.
    const duration off = look / rho_divisor + margin + 2ms;
    for (const duration since : {2s, 8s, 9s, 59s, 600s, 3601s}) {
      EXPECT_TRUE(is_seen(off, since, look)) << print_duration(since);
    }
    EXPECT_FALSE(is_seen(look / rho_divisor + margin - 1ms, 60s, look)) << "that may be drift";
  }
}

using precise = std::chrono::duration<double>;

/// By how much a clock that gains `rate` of the time from `from` on is ahead when that is seen.
duration lost_unseen(double rate, duration from, duration look) {
  watched x;
  for (duration t{}; t < from + 3600s; t += look) {
    const precise gained = rate * precise(std::max(t - from, duration::zero()));
    x.ahead = std::chrono::duration_cast<server_time>(gained);
    if (x.at(t) != verdict::steady) return x.ahead;
  }
  return duration::max();
}

TEST(clock_watch, a_clock_that_runs_ahead_gains_no_more_than_a_lease_may_lose) {
  for (const duration look : {duration(10ms), duration(1s)}) {
    for (const duration from : {1s, 8s, 60s, 500s}) {
      // As chronyd slews by default, and less: all but rho of it is soon above the margin.
      for (const double rate : {0.083, 0.02, 0.012}) {
        const double above = 1 - 1 / (rate * rho_divisor);
        const precise most = precise(margin + 2ms) / above + 2 * rate * precise(look);
        EXPECT_LE(lost_unseen(rate, from, look), most) << rate << " " << print_duration(from);
      }
    }
  }
}

TEST(clock_watch, a_slow_answer_hides_no_more_than_it_took) {
  watched x;
  EXPECT_EQ(x.at(0s), verdict::steady);
  x.trip = 900ms;
  EXPECT_EQ(x.at(1s), verdict::steady);
  x.trip = 1ms;
  x.ahead = 50ms;
  EXPECT_EQ(x.at(2s), verdict::stepped_forward) << "what was read before it still tells";
}

TEST(clock_watch, a_slow_answer_is_no_step) {
  watched x;
  x.at(0s);
  x.trip = 5s;
  EXPECT_EQ(x.at(1s), verdict::steady);
  x.trip = 1ms;
  EXPECT_EQ(x.at(10s), verdict::steady);
}

TEST(clock_watch, drift_below_rho_to_the_other_side_is_no_step_either) {
  clock_watch w;
  for (int i = 0; i < 1000; ++i) {
    const auto server = std::chrono::duration_cast<server_time>(i * 995ms);
    ASSERT_EQ(w.sample(wall + server, t0 + i * 1s, t0 + i * 1s + 1ms), verdict::steady);
  }
}

TEST(clock_watch, a_step_back_is_seen_at_the_next_look_however_long_it_was_watched_before) {
  watched x;
  for (duration since{}; since < 100s; since += 1s) ASSERT_EQ(x.at(since), verdict::steady);
  x.ahead = -500ms;
  EXPECT_EQ(x.at(100s), verdict::stepped_back);
}

TEST(clock_watch, begins_anew_with_the_step_that_it_saw) {
  for (const server_time step : {server_time(20s), server_time(-20s)}) {
    watched x;
    for (duration since{}; since < 100s; since += 1s) ASSERT_EQ(x.at(since), verdict::steady);
    x.ahead = step;
    ASSERT_NE(x.at(100s), verdict::steady);
    for (duration since = 101s; since < 200s; since += 1s) ASSERT_EQ(x.at(since), verdict::steady);
    x.ahead = 2 * step;
    EXPECT_NE(x.at(200s), verdict::steady) << "the next step is another";
  }
}

}  // namespace
}  // namespace holdfast::core::redlock
