#include "core/redlock/quorum.hpp"

#include <algorithm>
#include <functional>

namespace holdfast::core::redlock {

time_point majority_deadline(std::span<const time_point> per_node) {
  const std::size_t n = per_node.size();
  HOLDFAST_ASSERT(n > 0 && n <= nodes_max);
  std::array<time_point, nodes_max> sorted;
  std::copy(per_node.begin(), per_node.end(), sorted.begin());
  const auto at = [&](std::size_t i) { return sorted.begin() + static_cast<std::ptrdiff_t>(i); };
  const auto wanted = at(majority(n) - 1);
  std::nth_element(sorted.begin(), wanted, at(n), std::greater<>());
  return *wanted;
}

}  // namespace holdfast::core::redlock
