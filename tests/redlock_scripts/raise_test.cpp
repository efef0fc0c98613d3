#include "tests/redlock_scripts/node.hpp"

#include <gtest/gtest.h>

namespace holdfast::redis_tests {
namespace {

struct raise_script : testing::Test {
  raise_script() {
    n.init();
    n.acquire("a", value(1));
  }
  node n;
};

TEST_F(raise_script, lifts_cache_and_floor_while_the_lock_is_ours) {
  EXPECT_EQ(n.raise("a", value(1), 50), integer(1));
  EXPECT_EQ(n.floor(), 50U);
  n.release("a", value(1));
  EXPECT_EQ(n.acquire("a", value(2)), integer(51));
}

TEST_F(raise_script, never_lowers_a_counter) {
  n.raise("a", value(1), 50);
  EXPECT_EQ(n.raise("a", value(1), 20), integer(1));
  EXPECT_EQ(n.floor(), 50U);
  n.release("a", value(1));
  EXPECT_EQ(n.acquire("a", value(2)), integer(51));
}

TEST_F(raise_script, lifts_nothing_when_the_lock_is_anothers_or_gone) {
  EXPECT_EQ(n.raise("a", value(2), 50), integer(0));
  n.release("a", value(1));
  EXPECT_EQ(n.raise("a", value(1), 50), integer(0));
  EXPECT_EQ(n.floor(), 1U);
}

TEST_F(raise_script, comes_too_late_after_release_and_another_acquire) {
  n.release("a", value(1));
  n.acquire("a", value(2));
  EXPECT_EQ(n.raise("a", value(1), 50), integer(0));
  EXPECT_EQ(n.floor(), 2U);
}

TEST_F(raise_script, comes_too_late_after_the_seal_of_a_newer_epoch) {
  n.seal("2");
  EXPECT_EQ(n.raise("a", value(1), 50).error_word(), refusal::epoch);
  EXPECT_EQ(n.raise("a", value(1), 50, "life-0", "2").error_word(), refusal::not_admitted);
  EXPECT_EQ(n.floor(), 1U);
  EXPECT_EQ(n.raise("a", value(1), 50, "life-1", "2"), integer(1));
}

TEST_F(raise_script, survives_the_loss_of_the_cache) {
  n.command({"DEL", "holdfast:token:a"});
  EXPECT_EQ(n.raise("a", value(1), 50), integer(1));
  EXPECT_EQ(n.command({"GET", "holdfast:token:a"}), text("1:50"));
}

TEST_F(raise_script, refuses_when_time_went_back) {
  n.set_field("last_time", std::to_string(token_max));
  EXPECT_EQ(n.raise("a", value(1), 50).error_word(), refusal::clock_went_back);
  EXPECT_EQ(n.floor(), 1U);
}

TEST_F(raise_script, refuses_tokens_outside_of_their_range) {
  EXPECT_EQ(n.raise("a", value(1), 0).error_word(), refusal::counter);
  EXPECT_EQ(n.raise("a", value(1), token_max + 1).error_word(), refusal::counter);
  EXPECT_EQ(n.raise("a", value(1), ~std::uint64_t{0}).error_word(), refusal::counter);
  EXPECT_EQ(n.floor(), 1U);
  EXPECT_EQ(n.raise("a", value(1), token_max), integer(1));
  EXPECT_EQ(n.field("floor"), "4503599627370495");
}

TEST_F(raise_script, leaves_another_type_of_value_alone) {
  n.command({"DEL", "a"});
  n.command({"HSET", "a", "f", "1"});
  EXPECT_EQ(n.raise("a", value(1), 50).error_word(), "WRONGTYPE");
  EXPECT_EQ(n.floor(), 1U);
}

}  // namespace
}  // namespace holdfast::redis_tests
