#include "sim/campaign.hpp"
#include "sim/rule_switches.hpp"
#include "sim/scenario.hpp"
#include "sim/world.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <ostream>

namespace holdfast::sim {

void PrintTo(const rule_switch& r, std::ostream* out) { *out << r.name; }

namespace {

constexpr std::uint64_t enough = 600;  // Each is found well before; see docs/simulator.md.

class rule : public testing::TestWithParam<rule_switch> {};

TEST_P(rule, is_missed_when_it_is_removed) {
  const auto s = find_scenario(GetParam().scenario);
  ASSERT_TRUE(s);
  campaign<outcome> broken;
  {
    const without_rule removed(GetParam());
    broken = run_seeds<world>(*s, 1, enough);
  }
  ASSERT_TRUE(broken.found) << "no violation in " << broken.seeds << " seeds, " << broken.steps
                            << " steps without " << GetParam().name;
  std::cout << "without " << GetParam().name << ": seed " << broken.seed << ", " << broken.steps
            << " steps: " << *broken.found << '\n';
  const auto whole = run_seeds<world>(*s, 1, broken.seeds);
  EXPECT_FALSE(whole.found) << "with all rules, seed " << whole.seed << ": " << *whole.found;
}

INSTANTIATE_TEST_SUITE_P(removed, rule,
                         testing::ValuesIn(rule_switches().begin(), rule_switches().end()),
                         [](const auto& p) { return std::string(p.param.name); });

}  // namespace
}  // namespace holdfast::sim
