#include "core/redlock/pause.hpp"

#include "core/splitmix.hpp"

#include "gtest/gtest.h"

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;

TEST(pause, is_never_shorter_than_several_rounds) {
  std::uint64_t seed = 7;
  for (int i = 0; i < 1000; ++i) {
    pause p({.round = 3ms, .most = 1s});
    const duration d = p.next(splitmix(seed));
    ASSERT_GE(d, 12ms);
    ASSERT_LE(d, 24ms);
  }
}

TEST(pause, spreads_contenders_by_more_than_a_round) {
  std::uint64_t seed = 7;
  duration least = 1h, most{};
  for (int i = 0; i < 1000; ++i) {
    pause p({.round = 1ms, .most = 1s});
    const duration d = p.next(splitmix(seed));
    least = std::min(least, d);
    most = std::max(most, d);
  }
  EXPECT_GT(most - least, 3ms);
}

TEST(pause, doubles_up_to_its_limit_and_starts_again) {
  pause p({.round = 1ms, .most = 50ms});
  EXPECT_EQ(p.next(0), 4ms);
  EXPECT_EQ(p.next(0), 8ms);
  for (int i = 0; i < 100; ++i) EXPECT_LE(p.next(~0ULL), 50ms);
  EXPECT_EQ(p.next(0), 25ms);
  p.reset();
  EXPECT_EQ(p.next(0), 4ms);
}

TEST(pause, follows_the_measured_round_and_forgets_a_slow_one) {
  pause p({.round = 1ms, .most = 10s});
  p.measured(40ms);
  EXPECT_EQ(p.first(0), 160ms);
  for (int i = 0; i < 60; ++i) p.measured(100us);
  EXPECT_LT(p.first(0), 1ms);
  EXPECT_GE(p.first(0), 400us);
}

TEST(pause, a_round_longer_than_the_limit_is_no_error) {
  pause p({.round = 1ms, .most = 20ms});
  p.measured(1h);
  EXPECT_EQ(p.first(0), 10ms);
  EXPECT_LE(p.next(~0ULL), 20ms);
}

TEST(pause, polls_no_later_than_the_holders_key_lives) {
  pause p({.round = 1ms, .most = 10s});
  for (int i = 0; i < 20; ++i) p.next(0);
  EXPECT_GE(p.next(3), 5s);
  EXPECT_LE(p.next(3, 100ms), 100ms + 8ms);
  EXPECT_GE(p.next(3, 100ms), 100ms) << "nor before that";
  EXPECT_EQ(p.next(0, 5s - 1ns), p.next(0)) << "nor later than without";
  EXPECT_GE(p.next(3, 0ms), 4ms) << "still apart from the others";
  EXPECT_GE(p.next(3, -5s), 4ms);
  EXPECT_GE(p.next(3, duration::max() - 1ns), 5s) << "whatever a node says";
}

TEST(pause, is_longer_while_the_nodes_notify_of_releases) {
  std::uint64_t seed = 7;
  for (int i = 0; i < 1000; ++i) {
    pause p({.round = 1ms, .most = 1s, .poll_while_notified = 30ms});
    const duration d = p.next_while_notified(splitmix(seed));
    ASSERT_GE(d, 30ms);
    ASSERT_LE(d, 60ms);
  }
  pause p({.round = 1ms, .most = 1s, .poll_while_notified = 30ms});
  EXPECT_LE(p.next_while_notified(3, 5ms), 5ms + 8ms) << "no later than the holder's key lives";
  for (int i = 0; i < 20; ++i) p.next_while_notified(0);
  EXPECT_GE(p.next_while_notified(0), 500ms) << "it grows like the other one";
  EXPECT_LE(p.next_while_notified(~0ULL), 1s);
}

TEST(pause, the_first_one_can_be_had_without_a_failure) {
  pause p({.round = 1ms, .most = 1s});
  for (int i = 0; i < 10; ++i) p.next(0);
  EXPECT_GE(p.first(0), 4ms);
  EXPECT_LE(p.first(~0ULL), 8ms);
}

TEST(pause, after_a_notification_is_short) {
  pause p({.round = 1ms, .most = 1s});
  std::uint64_t seed = 1;
  for (int i = 0; i < 100; ++i) {
    const duration d = p.after_notification(splitmix(seed));
    ASSERT_GE(d, 0ns);
    ASSERT_LE(d, 2ms);
  }
}

}  // namespace
}  // namespace holdfast::core::redlock
