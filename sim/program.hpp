#pragma once

#include "sim/campaign.hpp"
#include "sim/command_line.hpp"

#include <holdfast/clock.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::sim {

/// What a simulator's program is made of: `World` runs a `Scenario`, and a `Removed` takes away the
/// rule of a `Switch` for as long as it lives.
template <class World, class Scenario, class Switch, class Removed>
struct program {
  std::string_view name;
  std::span<const Scenario> scenarios;
  std::span<const Switch> switches;
  duration Scenario::*length;  ///< Of the faults in a run.
  /// What else a run without that rule needs.
  void (*prepare)(Scenario& s, const Switch& rule);

  int start(int argc, char** argv) const {
    if (argc == 2 && std::string_view(argv[1]) == "--list") return list();
    const auto r = parse(argc, argv);
    if (!r) {
      std::cerr << usage_of(name);
      return 64;
    }
    auto s = named(scenarios, r->scenario);
    const auto rule = named(switches, r->removed);
    if (!s || (!r->removed.empty() && !rule)) {
      std::cerr << name << ": no such scenario or rule; see " << name << " --list\n";
      return 64;
    }
    if (r->seconds > 0) (*s).*length = std::chrono::seconds{r->seconds};
    std::optional<Removed> removed;
    if (rule) {
      removed.emplace(*rule);
      prepare(*s, *rule);
    }
    return run(*r, *s);
  }

 private:
  template <class T>
  static std::optional<T> named(std::span<const T> all, std::string_view wanted) {
    const auto at =
        std::find_if(all.begin(), all.end(), [&](const T& x) { return x.name == wanted; });
    return at == all.end() ? std::nullopt : std::optional(*at);
  }

  int list() const {
    std::cout << "scenarios:\n";
    for (const auto& s : scenarios) std::cout << "  " << s.name << ": " << s.about << '\n';
    std::cout << "rules, each with the scenario that shows what it is for:\n";
    for (const auto& r : switches) std::cout << "  " << r.name << " (" << r.scenario << ")\n";
    return EXIT_SUCCESS;
  }

  int run(const command_line& r, const Scenario& s) const {
    const auto c = run_seeds<World>(s, r.from, r.to - r.from + 1, r.trace);
    if (c.found) {
      std::cout << c.last_events << "violation at " << *c.found << "\nreplay: " << name
                << " --seed " << c.seed << replayed_with(r);
    }
    std::cout << c.seeds << " seeds, " << c.counts() << '\n';
    return c.found ? EXIT_FAILURE : EXIT_SUCCESS;
  }
};

}  // namespace holdfast::sim
