#include "io/redis/redis_pauses.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

constexpr time_point start = time_point{} + 1h;

redis_pauses usual() {
  return redis_pauses({.first = 10ms, .most = 2s, .after_up_most = 250ms, .lasting = 1s});
}

/// The shortest that a pause may be.
duration shortest(redis_pauses& p, time_point now) { return p.next(now, 0); }

TEST(redis_pauses, grow_with_each_try_that_fails) {
  auto p = usual();
  EXPECT_EQ(shortest(p, start), 5ms);
  EXPECT_EQ(shortest(p, start), 10ms);
  for (int i = 0; i < 10; ++i) (void)shortest(p, start);
  EXPECT_EQ(shortest(p, start), 1s);
}

TEST(redis_pauses, begin_anew_after_one_that_was_up) {
  auto p = usual();
  for (int i = 0; i < 10; ++i) (void)shortest(p, start);
  p.came_up(start);
  EXPECT_EQ(shortest(p, start), 5ms);
  EXPECT_EQ(shortest(p, start), 5ms) << "the first failure since";
  EXPECT_EQ(shortest(p, start), 10ms);
}

TEST(redis_pauses, grow_while_connections_come_up_and_none_lasts) {
  auto p = usual();
  for (const auto expected : {5ms, 10ms, 20ms, 40ms, 80ms, 125ms, 125ms}) {
    p.came_up(start);
    EXPECT_EQ(shortest(p, start + 999ms), expected);
  }
}

TEST(redis_pauses, a_connection_that_lasted_is_made_again_soon) {
  auto p = usual();
  for (int i = 0; i < 5; ++i) {
    p.came_up(start);
    (void)shortest(p, start);
  }
  p.came_up(start);
  EXPECT_EQ(shortest(p, start + 1s), 5ms);
}

}  // namespace
}  // namespace holdfast::io
