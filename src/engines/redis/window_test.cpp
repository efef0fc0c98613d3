#include "engines/redis/window.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace holdfast::engines::redis {
namespace {

struct asked {
  window w;
  std::size_t count{};
  std::size_t given_up{};
  void enter(std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      w.enter({.ask = [this] { ++count; }, .give_up = [this] { ++given_up; }});
    }
  }
};

TEST(window, lets_few_in_at_first_and_more_as_they_are_answered) {
  asked a;
  a.enter(1'000);
  EXPECT_EQ(a.count, 8U);
  for (int i = 0; i < 8; ++i) a.w.answered(0);
  EXPECT_GT(a.count, 100U);
  for (int i = 0; i < 100; ++i) a.w.answered(0);
  EXPECT_EQ(a.count - 108, 256U);
}

TEST(window, lets_fewer_in_while_answers_are_long) {
  asked a;
  a.enter(1'000);
  for (int i = 0; i < 100; ++i) a.w.answered(1'000);
  EXPECT_LE(a.count - 100, 39U);
  for (int i = 0; i < 100; ++i) a.w.answered(10'000);
  EXPECT_LE(a.count - 200, 3U);
  EXPECT_GE(a.count - 200, 1U) << "one can always be asked";
}

TEST(window, gives_up_those_that_wait_when_one_was_not_answered_and_begins_anew) {
  asked a;
  a.enter(1'000);
  for (int i = 0; i < 200; ++i) a.w.answered(0);
  const auto under_way = a.count - 200;
  EXPECT_EQ(a.given_up, 0U);
  a.w.unanswered();
  EXPECT_EQ(a.given_up, 1'000 - a.count);
  for (std::size_t i = 1; i < under_way; ++i) a.w.unanswered();
  EXPECT_EQ(a.count, 200 + under_way) << "none of them is asked";
  a.enter(1'000);
  EXPECT_EQ(a.count, 208 + under_way);
}

TEST(window, lets_nobody_in_beside_those_that_are_not_answered_yet) {
  asked a;
  a.enter(8);
  a.w.unanswered();
  a.enter(5);
  EXPECT_EQ(a.count, 9U);
  a.w.unanswered();
  EXPECT_EQ(a.given_up, 4U);
}

TEST(window, asks_all_when_one_cannot_be_asked_and_begins_anew) {
  asked a;
  a.enter(1'000);
  a.w.refused();
  EXPECT_EQ(a.count, 1'000U);
  for (int i = 0; i < 999; ++i) a.w.refused();
  a.enter(1'000);
  EXPECT_EQ(a.count, 1'008U);
}

TEST(window, leaves_nobody_unasked) {
  asked a;
  a.enter(1'000);
  a.w.flush();
  EXPECT_EQ(a.count, 1'000U);
}

TEST(window, a_refusal_that_comes_while_it_is_asked_nests_no_deeper) {
  window w;
  std::size_t depth = 0;
  std::size_t deepest = 0;
  std::size_t count = 0;
  for (int i = 0; i < 10'000; ++i) {
    w.enter({.ask =
                 [&] {
                   ++count;
                   if (count <= 8) return;
                   deepest = std::max(deepest, ++depth);
                   w.refused();
                   --depth;
                 },
             .give_up = [] {}});
  }
  w.refused();
  EXPECT_EQ(count, 10'000U);
  EXPECT_EQ(deepest, 1U);
}

}  // namespace
}  // namespace holdfast::engines::redis
