#include "sim/campaign.hpp"
#include "sim/scenario.hpp"
#include "sim/thoroughness.hpp"
#include "sim/world.hpp"

#include <gtest/gtest.h>

#include <iostream>

namespace holdfast::sim {
namespace {

class declared : public testing::TestWithParam<std::string_view> {};

TEST_P(declared, faults_break_no_promise) {
  const auto s = find_scenario(GetParam());
  ASSERT_TRUE(s);
  const auto c = run_seeds<world>(*s, 1, 60 * thoroughness());
  std::cout << s->name << ": " << c.seeds << " seeds, " << c.counts() << '\n';
  EXPECT_FALSE(c.found) << c.last_events << *c.found << "\nreplay: sim --seed " << c.seed
                        << " --scenario " << s->name << " --trace";
  EXPECT_GT(c.grants, c.seeds * 10) << "a run in which nobody is granted anything proves nothing";
}

std::vector<std::string_view> all_declared() {
  std::vector<std::string_view> names;
  for (const scenario& s : scenarios()) {
    if (s.drift_is_declared) names.push_back(s.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(scenarios, declared, testing::ValuesIn(all_declared()),
                         [](const auto& p) { return std::string(p.param); });

TEST(drift, beyond_the_declared_one_is_seen_to_break_exclusion) {
  // From the first seed that shows it on, so that instrumented builds find it soon.
  const auto c = run_seeds<world>(*find_scenario("drift_beyond"), 141, 500);
  std::cout << "drift_beyond: seen after " << c.seeds << " seeds, " << c.steps << " steps\n";
  ASSERT_TRUE(c.found) << "a check that cannot fail proves nothing";
}

TEST(seed, gives_the_same_run_again) {
  const scenario s = *find_scenario("mixed");
  const outcome first = world(s, 7).run();
  const outcome again = world(s, 7).run();
  EXPECT_EQ(first.digest, again.digest);
  EXPECT_EQ(first.steps, again.steps);
  EXPECT_EQ(first.last_events, again.last_events);
}

TEST(seed, makes_the_run) {
  const scenario s = *find_scenario("mixed");
  EXPECT_NE(world(s, 7).run().digest, world(s, 8).run().digest);
}

}  // namespace
}  // namespace holdfast::sim
