#include "core/redlock/quorum.hpp"

#include <array>

namespace holdfast::core::redlock {

time_point majority_deadline(std::span<const time_point> per_node) {
  const std::size_t n = per_node.size();
  HOLDFAST_ASSERT(n > 0 && n <= nodes_max);
  const std::size_t wanted = majority(n);
  // The largest so far, in falling order. For the few that they are, and for every lock, this takes
  // half of the instructions of std::nth_element.
  std::array<time_point::rep, majority(nodes_max)> largest;
  std::size_t count = 0;
  for (const time_point t : per_node) {
    const time_point::rep value = t.time_since_epoch().count();
    if (count == wanted && value <= largest[wanted - 1]) continue;
    if (count < wanted) ++count;
    std::size_t at = count - 1;
    for (; at > 0 && largest[at - 1] < value; --at) largest[at] = largest[at - 1];
    largest[at] = value;
  }
  return time_point(time_point::duration(largest[wanted - 1]));
}

}  // namespace holdfast::core::redlock
