#include "tests/process/child.hpp"
#include "tests/redis/wall_clock.hpp"
#include "tests/redlock/contest.hpp"
#include "tests/redlock/five_nodes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace holdfast::redlock_tests {

using testing::IsEmpty;

namespace {

/// Servers whose wall clocks can be stepped.
class redlock_clock : public testing::TestWithParam<const char*> {
 protected:
  redlock_clock() : nodes(all()) {}

  std::vector<server::options> all() {
    std::vector<server::options> each(clocks.size());
    for (std::size_t i = 0; i < each.size(); ++i) each[i].environment = clocks[i].environment();
    return each;
  }
  std::string query() const { return std::string("ttl=1s&max_ttl=1s") + GetParam(); }
  bool tokens() const { return std::string(GetParam()).empty(); }

  std::array<redis_tests::wall_clock, 5> clocks;
  five_nodes nodes;
};

/// Fault matrix: wall clocks of 2 of 5 nodes step by +1 h or -1 h and back | no two hold; the nodes
/// are put out and come back
TEST_P(redlock_clock, steps_of_a_minority_break_nothing) {
  if (tokens()) nodes.init(1s);
  contest c(nodes, {.query = query(), .tokens = tokens()});
  EXPECT_TRUE(c.more(10)) << c.troubles();
  for (const auto by : {1h, -1h, 0h}) {
    clocks[0].step(by);
    clocks[1].step(-by);
    EXPECT_TRUE(c.more(15)) << c.troubles();
    std::this_thread::sleep_for(1500ms);
  }
  EXPECT_TRUE(c.more(10)) << c.troubles();
  c.end();
  EXPECT_THAT(c.violations(), IsEmpty());
  EXPECT_TRUE(nodes.comes_to("contended", 0));
  EXPECT_TRUE(nodes.votes_come_to(5, query()));
}

/// Fault matrix: the wall clock of one node steps by +1 h under a held lock | it stays held
TEST_P(redlock_clock, a_held_lock_survives_the_step_of_one_node) {
  if (tokens()) nodes.init(1s);
  session s = nodes.open(query());
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  ASSERT_TRUE(nodes.comes_to("a", 5));
  clocks[0].step(1h);
  EXPECT_TRUE(process::eventually([&] { return nodes.count("a") == 4; }, 2s));
  EXPECT_TRUE(nodes.comes_to("a", 5));
  EXPECT_TRUE(l->check());
  EXPECT_LE(nodes.longest("a"), 1s);
}

INSTANTIATE_TEST_SUITE_P(tokens, redlock_clock,
                         testing::Values("", "&tokens=off&assume_fresh=yes"));

}  // namespace

}  // namespace holdfast::redlock_tests
