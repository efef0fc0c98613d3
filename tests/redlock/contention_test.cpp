#include "tests/redlock/contest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::redlock_tests {

using redis_tests::witness;
using testing::IsEmpty;

namespace {

TEST(redlock_contention, clients_exclude_each_other_and_all_get_on) {
  five_nodes nodes;
  nodes.init();
  contest c(nodes, {.clients = 5});
  EXPECT_TRUE(c.more(100)) << c.troubles();
  c.end();
  EXPECT_THAT(c.violations(), IsEmpty());
  EXPECT_TRUE(nodes.comes_to("contended", 0));
}

TEST(redlock_contention, without_tokens_clients_exclude_each_other_too) {
  five_nodes nodes;
  contest c(nodes, {.query = "ttl=5s&tokens=off&assume_fresh=yes", .clients = 5, .tokens = false});
  EXPECT_TRUE(c.more(100)) << c.troubles();
  c.end();
  EXPECT_THAT(c.violations(), IsEmpty());
  EXPECT_TRUE(nodes.comes_to("contended", 0));
}

TEST(redlock_contention, sixteen_waiters_of_one_client_drain_one_lock) {
  five_nodes nodes;
  nodes.init();
  session s = nodes.open();
  witness seen;
  std::vector<session> sessions;
  for (int i = 0; i < 16; ++i) sessions.push_back(nodes.open());
  std::vector<std::thread> waiters;
  for (session& by : sessions) {
    waiters.emplace_back([&] {
      for (int k = 0; k < 3; ++k) {
        auto l = by.acquire(lock_name("a"), {.wait = 30s});
        ASSERT_TRUE(l) << l.error().message();
        const auto me = seen.begins(*l);
        EXPECT_TRUE(seen.still(me, *l));
      }
    });
  }
  for (auto& w : waiters) w.join();
  EXPECT_EQ(seen.grants(), 48U);
  EXPECT_THAT(seen.violations(), IsEmpty());
}

}  // namespace

}  // namespace holdfast::redlock_tests
