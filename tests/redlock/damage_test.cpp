#include "tests/redlock/five_nodes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace holdfast::redlock_tests {
namespace {

constexpr std::uint64_t token_max_here = 4'503'599'627'370'495;

/// Fault matrix: no larger token is left | told at once, also to whoever would wait
TEST(redlock_damage, tokens_that_are_used_up_are_damage) {
  five_nodes nodes(1);
  nodes.init();
  session s = nodes.open();
  nodes[0].command({"HSET", "holdfast:node", "floor", std::to_string(token_max_here)});
  const auto l = s.acquire(lock_name("a"), {.wait = 20s});
  ASSERT_FALSE(l);
  EXPECT_EQ(l.error(), errc::damaged) << l.error().message();
}

/// Fault matrix: the floor of a node is damaged | it has no vote until it has rejoined; the tokens
/// of the others go on
TEST(redlock_damage, a_damaged_floor_does_not_use_up_the_tokens_of_the_others) {
  five_nodes nodes(3);
  nodes.init(3s);
  session s = nodes.open("ttl=3s");
  const auto next = [&] {
    auto l = s.acquire(lock_name("a"), {.wait = 20s});
    EXPECT_TRUE(l) << l.error().message();
    return l ? l->token().value : 0;
  };
  const std::uint64_t first = next();
  // Many more than this test takes, and far from the end of all tokens.
  const std::uint64_t most = first + 1'000'000'000;
  nodes[0].command({"HSET", "holdfast:node", "floor", std::to_string(2 * token_max_here)});
  std::uint64_t last = first;
  for (int i = 0; i < 30; ++i) {
    const std::uint64_t token = next();
    EXPECT_GT(token, last);
    EXPECT_LT(token, most);
    last = token;
  }
  EXPECT_TRUE(nodes.votes_come_to(3, "ttl=3s"));
  EXPECT_GT(next(), last);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto floor = nodes[i].command({"HGET", "holdfast:node", "floor"}).text;
    EXPECT_LT(std::stoull(floor), most) << "node " << i;
  }
}

/// Fault matrix: the floors of all nodes are damaged | nothing is granted until recover; then from
/// a floor by the clock
TEST(redlock_damage, damaged_floors_of_all_nodes_are_replaced_by_recover) {
  five_nodes nodes(3);
  nodes.init(3s);
  std::uint64_t before = 0;
  {
    session s = nodes.open("ttl=3s");
    auto l = s.try_acquire(lock_name("a"));
    ASSERT_TRUE(l) << l.error().message();
    before = l->token().value;
  }
  nodes.everywhere({"HSET", "holdfast:node", "floor", std::to_string(2 * token_max_here)});
  EXPECT_EQ(nodes.look("ttl=3s").votes, 0U);
  const auto recovered = redlock::recover(nodes.url("ttl=3s"));
  ASSERT_TRUE(recovered) << recovered.error().message();
  session s = nodes.open("ttl=3s");
  const auto l = s.acquire(lock_name("a"), {.wait = 20s});
  ASSERT_TRUE(l) << l.error().message();
  EXPECT_GT(l->token().value, before);
  EXPECT_LT(l->token().value, token_max_here / 2);
}

/// Fault matrix: the record of a node is damaged | the node has no vote, and status says how to
/// mend it
TEST(redlock_damage, a_record_that_cannot_be_read_is_told_with_what_mends_it) {
  five_nodes nodes(3);
  nodes.init(1s);
  const std::vector<std::vector<std::string>> damages{
      {"HSET", "holdfast:node", "epoch", "abc"},
      {"HSET", "holdfast:node", "max_ttl", "-5"},
      {"HDEL", "holdfast:node", "nonce"},
      {"HDEL", "holdfast:node", "id", "config_hash"}};
  for (const auto& damage : damages) {
    ASSERT_TRUE(nodes.votes_come_to(3, "ttl=1s")) << damage.at(2);
    nodes[1].command(damage);
    const auto seen = nodes.look("ttl=1s");
    EXPECT_EQ(seen.votes, 2U);
    EXPECT_THAT(seen.nodes.at(1).standing, testing::HasSubstr("holdfast:node is damaged"));
    EXPECT_THAT(seen.nodes.at(1).standing, testing::HasSubstr("DEL it there"));
    nodes[1].command({"DEL", "holdfast:node"});
  }
  EXPECT_TRUE(nodes.votes_come_to(3, "ttl=1s"));
}

}  // namespace
}  // namespace holdfast::redlock_tests
