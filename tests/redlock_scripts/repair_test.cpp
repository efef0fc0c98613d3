#include "tests/redlock_scripts/node.hpp"

#include <gtest/gtest.h>

namespace holdfast::redis_tests {
namespace {

struct repair_script : testing::Test {
  repair_script() { n.init(); }
  node n;
};

TEST_F(repair_script, gives_the_lock_back_and_lifts_the_counter_to_the_token) {
  EXPECT_EQ(n.repair("a", value(1), 50), integer(1));
  EXPECT_EQ(n.command({"GET", "a"}), text(value(1)));
  EXPECT_GT(n.left("a"), 6'000);
  n.release("a", value(1));
  EXPECT_EQ(n.acquire("a", value(2)), integer(51));
}

TEST_F(repair_script, overwrites_nobody) {
  n.acquire("a", value(2));
  EXPECT_EQ(n.repair("a", value(1), 50).is, answer::kind::array);
  EXPECT_EQ(n.command({"GET", "a"}), text(value(2)));
  EXPECT_EQ(n.floor(), 1U);
}

TEST_F(repair_script, lowers_no_counter) {
  n.acquire("a", value(2), {.hint = "99"});
  n.release("a", value(2));
  EXPECT_EQ(n.repair("a", value(1), 50), integer(1));
  EXPECT_EQ(n.floor(), 100U);
  EXPECT_EQ(n.command({"GET", "holdfast:token:a"}), text("1:100"));
}

TEST_F(repair_script, refuses_what_acquire_refuses) {
  EXPECT_EQ(n.repair("a", value(1), 50, {.nonce = "life-0"}).error_word(), refusal::not_admitted);
  EXPECT_EQ(n.repair("a", value(1), 50, {.session = "other"}).error_word(), refusal::no_session);
  EXPECT_EQ(n.repair("a", value(1), 50, {.ttl = "60001"}).error_word(), refusal::ttl);
  EXPECT_EQ(n.repair("a", value(1), 0).error_word(), refusal::counter);
  EXPECT_EQ(n.repair("a", value(1), token_max + 1).error_word(), refusal::counter);
  n.set_field("last_time", std::to_string(token_max));
  EXPECT_EQ(n.repair("a", value(1), 50).error_word(), refusal::clock_went_back);
  n.set_field("last_time", "1");
  n.deny("5e55");
  EXPECT_EQ(n.repair("a", value(1), 50).error_word(), refusal::denied);
  n.set_field("epoch", "0");
  EXPECT_EQ(n.repair("a", value(1), 50).error_word(), refusal::not_admitted);
  EXPECT_EQ(n.command({"EXISTS", "a"}), integer(0));
}

}  // namespace
}  // namespace holdfast::redis_tests
