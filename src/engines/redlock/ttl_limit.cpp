#include "engines/redlock/ttl_limit.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <functional>
#include <vector>

namespace holdfast::engines::redlock {

duration longest_ttl(const cluster& c) {
  std::vector<duration> each;
  for_each(c.now_voting()->voters, [&](node_index i) {
    if (const auto p = c.view_of(i); p.facts.record) each.push_back(p.facts.record->max_ttl);
  });
  if (each.empty()) return {};
  std::ranges::sort(each, std::greater{});
  return each[std::min(each.size(), c.majority()) - 1];
}

std::string ttl_too_long(duration ttl, duration most) {
  return "the ttl is " + print_duration(ttl) +
         "; max_ttl in the records of this store's nodes is " + print_duration(most) +
         ". Take a shorter ttl, or stop all holders and raise it: holdfast redlock recover " +
         "--max-ttl " + print_duration(ttl) + ", see docs/redlock.md";
}

}  // namespace holdfast::engines::redlock
