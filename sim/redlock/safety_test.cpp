#include "sim/campaign.hpp"
#include "sim/redlock/scenario.hpp"
#include "sim/redlock/world.hpp"
#include "sim/thoroughness.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

namespace holdfast::sim::redlock {
namespace {

class redlock_scenario : public testing::TestWithParam<std::string_view> {};

TEST_P(redlock_scenario, breaks_no_promise) {
  const auto s = find_scenario(GetParam());
  ASSERT_TRUE(s);
  const auto c = run_seeds<world>(*s, 1, 100 * thoroughness());
  std::cout << s->name << ": " << c.seeds << " seeds, " << c.counts() << '\n';
  EXPECT_FALSE(c.found) << c.last_events << *c.found << "\nreplay: sim_redlock --seed " << c.seed
                        << " --scenario " << s->name << " --trace";
  EXPECT_GT(s->grants_least, 0U);
  EXPECT_GE(100 * c.grants_under_faults, s->grants_least * c.seeds)
      << "a run in which nobody is granted anything proves nothing";
  if (s->tokens && s->losses > duration::zero()) {
    EXPECT_GT(c.rejoins, c.seeds);
  }
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> all;
  for (const scenario& s : scenarios()) all.push_back(s.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(each, redlock_scenario, testing::ValuesIn(names()),
                         [](const auto& p) { return std::string(p.param); });

TEST(redlock_seed, gives_the_same_run_again) {
  const scenario s = *find_scenario("mixed");
  const outcome first = world(s, 7).run();
  const outcome again = world(s, 7).run();
  EXPECT_EQ(first.digest, again.digest);
  EXPECT_EQ(first.steps, again.steps);
  EXPECT_NE(first.digest, world(s, 8).run().digest);
}

}  // namespace
}  // namespace holdfast::sim::redlock
