#include "io/redis/redis_requests.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

namespace holdfast::io {
namespace {

time_point at(int milliseconds) { return time_point{} + std::chrono::milliseconds{milliseconds}; }

redis_request one(std::uint64_t tag, time_point deadline) {
  return {.receiver = nullptr, .tag = tag, .deadline = deadline, .place = 0};
}

std::vector<std::uint64_t> tags_of(const std::vector<redis_request>& from) {
  std::vector<std::uint64_t> tags;
  for (const auto& r : from) tags.push_back(r.tag);
  std::sort(tags.begin(), tags.end());
  return tags;
}

/// What take_due() does, without regard to order.
std::vector<std::uint64_t> expire(std::deque<redis_request>& plain, time_point now) {
  std::vector<redis_request> due;
  for (auto& r : plain) {
    if (r.expired || r.deadline > now) continue;
    r.expired = true;
    due.push_back(r);
  }
  return tags_of(due);
}

time_point first_deadline(const std::deque<redis_request>& plain) {
  time_point first = time_point::max();
  for (const auto& r : plain) first = r.expired ? first : std::min(first, r.deadline);
  return first;
}

TEST(redis_requests, are_answered_in_the_order_of_sending) {
  redis_requests all;
  for (std::uint64_t tag = 0; tag < 3; ++tag) all.add(one(tag, at(100 - static_cast<int>(tag))));
  for (std::uint64_t tag = 0; tag < 3; ++tag) EXPECT_EQ(all.take_front().tag, tag);
  EXPECT_TRUE(all.empty());
}

TEST(redis_requests, are_fetched_ahead_however_few_they_are) {
  redis_requests all;
  for (std::uint64_t tag = 0; tag < 10; ++tag) {
    all.fetch_ahead();
    all.add(one(tag, at(100)));
  }
  for (std::uint64_t tag = 0; tag < 10; ++tag) {
    all.fetch_ahead();
    EXPECT_EQ(all.take_front().tag, tag);
  }
}

TEST(redis_requests, expire_by_deadline_and_are_still_owed_an_answer) {
  redis_requests all;
  all.add(one(1, at(30)));
  all.add(one(2, at(10)));
  all.add(one(3, at(20)));
  EXPECT_EQ(all.next_deadline(), at(10));
  EXPECT_TRUE(all.take_due(at(9)).empty());
  const auto due = all.take_due(at(20));
  ASSERT_EQ(due.size(), 2U);
  EXPECT_EQ(due[0].tag, 2U);
  EXPECT_EQ(due[1].tag, 3U);
  EXPECT_EQ(all.next_deadline(), at(30));
  EXPECT_FALSE(all.take_front().expired);
  EXPECT_TRUE(all.take_front().expired);
  EXPECT_TRUE(all.take_front().expired);
}

TEST(redis_requests, an_answered_one_has_no_deadline) {
  redis_requests all;
  all.add(one(1, at(10)));
  all.add(one(2, at(20)));
  all.take_front();
  EXPECT_EQ(all.next_deadline(), at(20));
  EXPECT_EQ(all.take_due(at(15)).size(), 0U);
  all.take_front();
  EXPECT_EQ(all.next_deadline(), time_point::max());
  EXPECT_TRUE(all.take_due(at(1000)).empty());
}

TEST(redis_requests, remember_no_more_than_a_bounded_number_of_answered_ones) {
  redis_requests all;
  for (int i = 0; i < 200'000; ++i) {
    all.add(one(static_cast<std::uint64_t>(i), at(1'000'000 - i)));
    if (i >= 10) {
      EXPECT_EQ(all.take_front().tag, static_cast<std::uint64_t>(i - 10));
    }
    ASSERT_LE(all.remembered(), 4200U);
  }
  EXPECT_EQ(all.size(), 10U);
  EXPECT_EQ(all.take_due(at(2'000'000)).size(), 10U);
}

TEST(redis_requests, those_of_another_timeout_leave_the_others_in_line) {
  redis_requests all;
  for (int i = 0; i < 1'000; ++i) {
    const auto tag = static_cast<std::uint64_t>(i);
    all.add(one(tag, at(i + 50)));
    if (i % 100 == 0) all.add(one(tag, at(i + 2'000)));
    if (i % 30 == 0) all.add(one(tag, at(i + 500)));
    EXPECT_EQ(all.remembered(), 0U);
  }
  EXPECT_EQ(all.take_due(at(549)).size(), 500U + 2U);
}

TEST(redis_requests, are_due_as_in_a_plain_list_whatever_the_order_of_their_deadlines) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
    redis_requests all;
    std::deque<redis_request> plain;
    int now = 0;
    for (std::uint64_t tag = 0; tag < 300; ++tag) {
      const bool ends = below(10) != 0;
      // Mostly one of a few timeouts, as in life; sometimes a long or a short one.
      const int timeout = below(5) != 0 ? 20 : below(2) != 0 ? 70 : below(100);
      const auto deadline = ends ? at(now + timeout) : time_point::max();
      all.add(one(tag, deadline));
      plain.push_back(one(tag, deadline));
      for (int i = below(3); i > 0 && !plain.empty(); --i) {
        const auto front = all.take_front();
        EXPECT_EQ(front.tag, plain.front().tag);
        EXPECT_EQ(front.expired, plain.front().expired) << "seed " << seed << ", tag " << front.tag;
        plain.pop_front();
      }
      now += below(8);
      const auto due = expire(plain, at(now));
      EXPECT_EQ(tags_of(all.take_due(at(now))), due) << "seed " << seed << ", after tag " << tag;
      EXPECT_EQ(all.next_deadline(), first_deadline(plain)) << "seed " << seed;
    }
  }
}

TEST(redis_requests, the_end_of_a_connection_takes_all_that_are_owed) {
  redis_requests all;
  for (std::uint64_t tag = 0; tag < 4; ++tag) all.add(one(tag, at(10)));
  all.take_front();
  const auto left = all.take_all();
  ASSERT_EQ(left.size(), 3U);
  EXPECT_EQ(left[0].tag, 1U);
  EXPECT_TRUE(all.empty());
  EXPECT_TRUE(all.take_due(at(100)).empty());
  all.add(one(9, at(10)));
  EXPECT_EQ(all.take_due(at(100)).at(0).tag, 9U);
}

}  // namespace
}  // namespace holdfast::io
