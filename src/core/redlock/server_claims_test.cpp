#include "core/redlock/server_claims.hpp"

#include "core/lease.hpp"
#include "core/start_fixture.hpp"

#include "gtest/gtest.h"

#include <algorithm>

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;
using server = server_claims::server;

const server one{.run_id = "r1", .record_id = "i1"};
const server another{.run_id = "r2", .record_id = "i2"};

bool is_elsewhere(const server_claims& c, const server& s, time_point now) {
  return c.elsewhere(1, s, now).has_value();
}

TEST(server_claims, a_server_is_no_other_nodes_until_what_it_granted_is_over) {
  server_claims c(10s);
  c.settle(0, one, 0s, t0);
  EXPECT_TRUE(is_elsewhere(c, one, t0 + 1h)) << "it is there still";
  c.leave(0, t0 + 1h);
  c.leave(0, t0 + 2h);
  EXPECT_TRUE(is_elsewhere(c, one, t0 + 1h + takeover_after(10s) - 1ns));
  EXPECT_FALSE(is_elsewhere(c, one, t0 + 1h + takeover_after(10s)));
}

TEST(server_claims, the_longest_ttl_counts_of_the_store_and_of_all_its_records) {
  for (const duration of_store : {1s, 30s}) {
    server_claims c(of_store);
    c.settle(0, one, 20s, t0);
    c.settle(0, one, 5s, t0 + 1s);
    c.leave(0, t0 + 2s);
    const time_point over = t0 + 2s + takeover_after(std::max<duration>(of_store, 20s));
    EXPECT_TRUE(is_elsewhere(c, one, over - 1ns));
    EXPECT_FALSE(is_elsewhere(c, one, over));
  }
}

TEST(server_claims, who_is_there_instead_of_another_ends_no_wait_of_that_one) {
  server_claims c(10s);
  EXPECT_FALSE(c.settle(0, one, 0s, t0));
  EXPECT_FALSE(c.settle(0, one, 0s, t0 + 1s)) << "the same";
  EXPECT_TRUE(c.settle(0, another, 0s, t0 + 2s));
  c.leave(0, t0 + 20s);
  const time_point over = t0 + 2s + takeover_after(10s);
  EXPECT_TRUE(is_elsewhere(c, one, over - 1ns));
  EXPECT_FALSE(is_elsewhere(c, one, over));
  EXPECT_TRUE(is_elsewhere(c, another, over));
}

TEST(server_claims, another_process_with_the_same_record_is_a_copy) {
  server_claims c(10s);
  c.settle(0, one, 0s, t0);
  const auto same = c.elsewhere(1, {.run_id = "r1", .record_id = {}}, t0);
  ASSERT_TRUE(same);
  EXPECT_FALSE(same->is_copy);
  const auto copy = c.elsewhere(1, {.run_id = "r9", .record_id = "i1"}, t0);
  ASSERT_TRUE(copy);
  EXPECT_TRUE(copy->is_copy);
  EXPECT_FALSE(c.elsewhere(1, another, t0));
  EXPECT_FALSE(c.elsewhere(0, one, t0)) << "its own";
}

}  // namespace
}  // namespace holdfast::core::redlock
