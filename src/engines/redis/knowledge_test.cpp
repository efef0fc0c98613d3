#include "engines/redis/knowledge.hpp"

#include <gtest/gtest.h>

namespace holdfast::engines::redis {
namespace {

using namespace std::chrono_literals;

TEST(known_stores, outlive_their_users_by_url_and_password) {
  known_stores all;
  {
    const auto k = all.of("redis://a", "secret");
    k->saw_token(7);
    k->saw_token(5);
    k->saw_store(true, 2s);
    k->saw_store(false, 3s);
  }
  const auto again = all.of("redis://a", "secret");
  EXPECT_EQ(again->token(), 7U);
  EXPECT_TRUE(again->was_used());
  EXPECT_EQ(again->max_ttl(), 3s);
  EXPECT_FALSE(all.of("redis://a", "other")->was_used());
  EXPECT_FALSE(all.of("redis://b", "secret")->was_used());
}

TEST(known_stores, of_one_that_was_only_asked_nothing_is_kept) {
  known_stores all;
  for (int i = 0; i < 100; ++i) all.of(std::to_string(i), "")->saw_store(false, 60s);
  EXPECT_EQ(all.size(), 1U);
}

TEST(known_stores, are_forgotten_when_there_are_too_many_and_never_while_one_is_open) {
  known_stores all;
  const auto open = all.of("open", "");
  open->saw_token(1);
  for (std::size_t i = 0; i < known_stores::stores_max + 10; ++i) {
    all.of(std::to_string(i), "")->saw_token(1);
  }
  EXPECT_LE(all.size(), known_stores::stores_max + 2);
  EXPECT_EQ(all.of("open", ""), open);
  EXPECT_EQ(all.of(std::to_string(known_stores::stores_max + 9), "")->token(), 1U) << "the newest";
  EXPECT_EQ(all.of("0", "")->token(), 0U) << "the oldest";
}

}  // namespace
}  // namespace holdfast::engines::redis
