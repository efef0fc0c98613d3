#include "sim/command_line.hpp"
#include "sim/redlock/rule_switches.hpp"
#include "sim/redlock/world.hpp"

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string_view>

namespace holdfast::sim::redlock {

namespace {

constexpr std::string_view usage =
    "usage: sim_redlock [--seed N | --seeds FROM..TO] [--scenario NAME] [--remove RULE]\n"
    "                   [--seconds S] [--trace] [--list]\n"
    "One seed is one run. A violation is printed with the command that replays it; exit code 1.\n";

void list() {
  std::cout << "scenarios:\n";
  for (const auto& s : scenarios()) std::cout << "  " << s.name << ": " << s.about << '\n';
  std::cout << "rules, each with the scenario that shows what it is for:\n";
  for (const auto& r : rule_switches()) std::cout << "  " << r.name << " (" << r.scenario << ")\n";
}

int run(const command_line& r, scenario s) {
  if (r.seconds > 0) s.length = std::chrono::seconds{r.seconds};
  outcome sum;
  for (std::uint64_t seed = r.from; seed <= r.to; ++seed) {
    world w(s, seed);
    if (r.trace) w.events.print_all();
    const outcome o = w.run();
    sum.steps += o.steps;
    sum.grants += o.grants;
    sum.rejoins += o.rejoins;
    if (!o.found) continue;
    std::cout << o.last_events << *o.found << "\nreplay: sim_redlock --seed " << seed
              << " --scenario " << s.name;
    if (!r.removed.empty()) std::cout << " --remove " << r.removed;
    if (r.seconds > 0) std::cout << " --seconds " << r.seconds;
    std::cout << " --trace\n" << seed - r.from + 1 << " seeds, " << sum.steps << " steps\n";
    return EXIT_FAILURE;
  }
  std::cout << r.to - r.from + 1 << " seeds, " << sum.steps << " steps, " << sum.grants
            << " grants, " << sum.rejoins << " rejoins\n";
  return EXIT_SUCCESS;
}

int start(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--list") {
    list();
    return EXIT_SUCCESS;
  }
  const auto r = parse(argc, argv);
  if (!r) {
    std::cerr << usage;
    return 64;
  }
  auto s = find_scenario(r->scenario);
  std::optional<without_rule> removed;
  for (const auto& rule : rule_switches()) {
    if (rule.name != r->removed) continue;
    removed.emplace(rule);
    if (s) s->judges_records = rule.by == rule_switch::seen::in_records;
  }
  if (!s || (!r->removed.empty() && !removed)) {
    std::cerr << "sim_redlock: no such scenario or rule; see sim_redlock --list\n";
    return 64;
  }
  return run(*r, *s);
}

}  // namespace

}  // namespace holdfast::sim::redlock

int main(int argc, char** argv) { return holdfast::sim::redlock::start(argc, argv); }
