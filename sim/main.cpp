#include "sim/program.hpp"
#include "sim/rule_switches.hpp"
#include "sim/scenario.hpp"
#include "sim/world.hpp"

int main(int argc, char** argv) {
  using namespace holdfast::sim;
  const program<world, scenario, rule_switch, without_rule> sim{
      .name = "sim",
      .scenarios = scenarios(),
      .switches = rule_switches(),
      .length = &scenario::faulty,
      .prepare = [](scenario&, const rule_switch&) {},
  };
  return sim.start(argc, argv);
}
