#include "sim/command_line.hpp"
#include "sim/rule_switches.hpp"
#include "sim/world.hpp"

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::sim {

namespace {

constexpr std::string_view usage =
    "usage: sim [--seed N | --seeds FROM..TO] [--scenario NAME] [--remove RULE] [--seconds S]\n"
    "           [--trace] [--list]\n"
    "One seed is one run. A violation is printed with the command that replays it; exit code 1.\n";

void list() {
  std::cout << "scenarios:\n";
  for (const auto& s : scenarios()) std::cout << "  " << s.name << ": " << s.about << '\n';
  std::cout << "rules, each with the scenario that shows what it is for:\n";
  for (const auto& r : rule_switches()) std::cout << "  " << r.name << " (" << r.scenario << ")\n";
}

void report(const command_line& r, std::uint64_t seed, const outcome& o) {
  std::cout << o.last_events << "violation at " << print_moment(o.found->when) << ": "
            << o.found->what << "\nreplay: sim --seed " << seed << " --scenario " << r.scenario;
  if (!r.removed.empty()) std::cout << " --remove " << r.removed;
  if (r.seconds > 0) std::cout << " --seconds " << r.seconds;
  std::cout << " --trace\n";
}

int run(const command_line& r, scenario s) {
  if (r.seconds > 0) s.faulty = std::chrono::seconds{r.seconds};
  std::uint64_t steps = 0;
  std::uint64_t grants = 0;
  for (std::uint64_t seed = r.from;; ++seed) {
    world w(s, seed);
    if (r.trace) w.print_all();
    const outcome o = w.run();
    steps += o.steps;
    grants += o.grants;
    if (o.found) report(r, seed, o);
    if (o.found || seed == r.to) {
      std::cout << seed - r.from + 1 << " seeds, " << steps << " steps, " << grants << " grants\n";
      return o.found ? EXIT_FAILURE : EXIT_SUCCESS;
    }
  }
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
  const auto s = find_scenario(r->scenario);
  std::optional<without_rule> removed;
  for (const auto& rule : rule_switches()) {
    if (rule.name == r->removed) removed.emplace(rule);
  }
  if (!s || (!r->removed.empty() && !removed)) {
    std::cerr << "sim: no such scenario or rule; see sim --list\n";
    return 64;
  }
  return run(*r, *s);
}

}  // namespace

}  // namespace holdfast::sim

int main(int argc, char** argv) { return holdfast::sim::start(argc, argv); }
