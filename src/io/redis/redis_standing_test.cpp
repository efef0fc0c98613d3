#include "io/redis/redis_standing.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

error because(const char* text) { return {errc::unavailable, text}; }

TEST(redis_standing, says_why_it_is_down_and_nothing_while_it_is_up) {
  redis_standing s(because("not yet"));
  EXPECT_FALSE(s.is_up());
  EXPECT_EQ(s.trouble()->message(), "not yet");
  ASSERT_TRUE(s.come_up());
  EXPECT_TRUE(s.is_up());
  EXPECT_FALSE(s.trouble());
  s.go_down(because("lost"));
  EXPECT_FALSE(s.is_up());
  EXPECT_EQ(s.trouble()->message(), "lost");
  ASSERT_TRUE(s.come_up());
  EXPECT_EQ(s.ups(), 2U);
}

TEST(redis_standing, is_explained_only_while_it_is_down) {
  redis_standing s(because("not yet"));
  s.explain(because("the resolver hangs"));
  EXPECT_EQ(s.trouble()->message(), "the resolver hangs");
  ASSERT_TRUE(s.come_up());
  s.explain(because("late news"));
  EXPECT_EQ(s.why_down().message(), "the resolver hangs");
}

TEST(redis_standing, comes_up_no_more_once_it_was_closed) {
  redis_standing s(because("not yet"));
  EXPECT_TRUE(s.close(because("closed")));
  EXPECT_TRUE(s.is_closed());
  EXPECT_FALSE(s.was_up());
  EXPECT_FALSE(s.come_up());
  EXPECT_FALSE(s.is_up());
  EXPECT_EQ(s.ups(), 0U);
}

TEST(redis_standing, that_is_closed_keeps_its_reason_when_the_connection_is_lost) {
  redis_standing s(because("not yet"));
  ASSERT_TRUE(s.come_up());
  EXPECT_TRUE(s.close(because("closed")));
  EXPECT_TRUE(s.was_up());
  EXPECT_FALSE(s.is_up());
  s.go_down(because("lost"));
  s.explain(because("late news"));
  EXPECT_EQ(s.trouble()->message(), "closed");
  EXPECT_TRUE(s.is_closed());
}

TEST(redis_standing, is_closed_once) {
  redis_standing s(because("not yet"));
  EXPECT_TRUE(s.close(because("closed")));
  EXPECT_FALSE(s.close(because("again")));
  s.end();
  EXPECT_FALSE(s.close(because("again")));
  EXPECT_TRUE(s.is_closed());
  s.go_down(because("lost"));
  EXPECT_EQ(s.trouble()->message(), "closed");
}

TEST(redis_standing, has_its_end_waited_for_but_no_longer_than_the_limit) {
  redis_standing s(because("not yet"));
  ASSERT_TRUE(s.close(because("closed")));
  const auto began = clock::now();
  s.await_end(20ms);
  EXPECT_GE(clock::now() - began, 20ms);
  std::thread other([&] { s.end(); });
  s.await_end(1h);
  other.join();
}

}  // namespace
}  // namespace holdfast::io
