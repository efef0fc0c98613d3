#pragma once

#include <cstdint>
#include <utility>

namespace holdfast::sim {

/// Many runs of one scenario: the counts of all, and what the last one found.
template <class Outcome>
struct campaign : Outcome {
  std::uint64_t seeds{};
  std::uint64_t seed{};  ///< Of the last one.
};

/// Runs seeds `from`, `from` + 1, ... until one finds a violation or `count` are done. `trace`:
/// they print all that happens.
template <class World, class Scenario>
auto run_seeds(const Scenario& s, std::uint64_t from, std::uint64_t count, bool trace = false) {
  campaign<decltype(std::declval<World&>().run())> c;
  while (!c.found && c.seeds < count) {
    c.seed = from + c.seeds++;
    World w(s, c.seed);
    if (trace) w.print_all();
    c.add(w.run());
  }
  return c;
}

}  // namespace holdfast::sim
