#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::sim {

/// What one run was, or several.
struct outcome {
  std::optional<std::string> found;  ///< The first violation and its moment.
  std::uint64_t steps{};
  std::uint64_t grants{};
  std::uint64_t digest{};
  std::string last_events;

  /// One more run: counts are summed, the rest is that of the last one.
  void add(outcome o) {
    o.steps += steps;
    o.grants += grants;
    *this = std::move(o);
  }
  std::string counts() const {
    return std::to_string(steps) + " steps, " + std::to_string(grants) + " grants";
  }
};

}  // namespace holdfast::sim
