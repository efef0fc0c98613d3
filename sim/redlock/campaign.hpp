#pragma once

#include "sim/redlock/world.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::sim::redlock {

/// Many runs of one scenario.
struct campaign {
  std::uint64_t seeds{};
  std::uint64_t steps{};
  std::uint64_t grants{};
  std::uint64_t grants_under_faults{};
  std::uint64_t rejoins{};
  std::uint64_t seed{};  ///< The one that found something.
  std::optional<std::string> found;
  std::string last_events;
};

/// Runs seeds `from`, `from` + 1, ... until one finds a violation or `count` are done.
inline campaign run_seeds(const scenario& s, std::uint64_t from, std::uint64_t count) {
  campaign c;
  for (std::uint64_t seed = from; seed < from + count && !c.found; ++seed) {
    outcome o = world(s, seed).run();
    ++c.seeds;
    c.steps += o.steps;
    c.grants += o.grants;
    c.grants_under_faults += o.grants_under_faults;
    c.rejoins += o.rejoins;
    if (!o.found) continue;
    c.seed = seed;
    c.found = std::move(o.found);
    c.last_events = std::move(o.last_events);
  }
  return c;
}

}  // namespace holdfast::sim::redlock
