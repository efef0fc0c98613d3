#pragma once

#include "core/rounds_fixture.hpp"
#include "sim/world.hpp"

#include <cstdint>
#include <string>

namespace holdfast::sim {

/// Many runs of one scenario, as the tests need them.
struct campaign {
  std::uint64_t seeds{};
  std::uint64_t steps{};
  std::uint64_t grants{};
  std::uint64_t seed{};  ///< The one that found something.
  std::optional<violation> found;
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
    if (!o.found) continue;
    c.seed = seed;
    c.found = o.found;
    c.last_events = std::move(o.last_events);
  }
  return c;
}

/// How many times more runs there are when HOLDFAST_TEST_FULL is set.
inline std::uint64_t thoroughness() { return core::is_full_run() ? 100 : 1; }

}  // namespace holdfast::sim
