#include "sim/program.hpp"
#include "sim/redlock/rule_switches.hpp"
#include "sim/redlock/scenario.hpp"
#include "sim/redlock/world.hpp"

int main(int argc, char** argv) {
  using namespace holdfast::sim::redlock;
  const holdfast::sim::program<world, scenario, rule_switch, without_rule> sim{
      .name = "sim_redlock",
      .scenarios = scenarios(),
      .switches = rule_switches(),
      .length = &scenario::length,
      .prepare =
          [](scenario& s, const rule_switch& rule) {
            s.judges_records = rule.by == rule_switch::seen::in_records;
          },
  };
  return sim.start(argc, argv);
}
