#include "sim/campaign.hpp"
#include "sim/redlock/rule_switches.hpp"
#include "sim/redlock/scenario.hpp"
#include "sim/redlock/world.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <ostream>

namespace holdfast::sim::redlock {

void PrintTo(const rule_switch& r, std::ostream* out) { *out << r.name; }

namespace {

constexpr std::uint64_t enough = 4000;  // Each is found well before; see docs/simulator.md.

class redlock_rule : public testing::TestWithParam<rule_switch> {};

TEST_P(redlock_rule, is_missed_when_it_is_removed) {
  const rule_switch& rule = GetParam();
  auto s = find_scenario(rule.scenario);
  ASSERT_TRUE(s);
  s->judges_records = rule.by == rule_switch::seen::in_records;
  campaign<outcome> broken;
  {
    const without_rule removed(rule);
    broken = run_seeds<world>(*s, 1, enough);
  }
  ASSERT_TRUE(broken.found) << "no violation in " << broken.seeds << " seeds, " << broken.steps
                            << " steps without " << rule.name;
  std::cout << "without " << rule.name << ": seed " << broken.seed << ", " << broken.steps
            << " steps: " << *broken.found << '\n';
  const without_rule besides(rule, without_rule::what::only_besides);
  const auto whole = run_seeds<world>(*s, 1, broken.seeds);
  EXPECT_FALSE(whole.found) << "with the rule, seed " << whole.seed << ": " << *whole.found;
}

INSTANTIATE_TEST_SUITE_P(removed, redlock_rule,
                         testing::ValuesIn(rule_switches().begin(), rule_switches().end()),
                         [](const auto& p) { return std::string(p.param.name); });

TEST(redlock_rules, have_a_switch_each) {
  std::size_t machines = 0;
  std::size_t of_scripts = 0;
  std::size_t of_drivers = 0;
  for (const rule_switch& r : rule_switches()) {
    machines += r.machine != nullptr ? 1U : 0U;
    of_scripts += r.script != nullptr ? 1U : 0U;
    of_drivers += r.driver != nullptr ? 1U : 0U;
  }
  EXPECT_EQ(machines, sizeof(core::redlock::rules) / sizeof(bool));
  EXPECT_EQ(of_scripts, sizeof(script_rules) / sizeof(bool));
  EXPECT_EQ(of_drivers, sizeof(driver_rules) / sizeof(bool));
}

}  // namespace
}  // namespace holdfast::sim::redlock
