#include "cli/near_match.hpp"

#include <algorithm>

namespace holdfast::cli {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string nearest(std::string_view typed, const std::vector<std::string>& known) {
  const std::size_t near_enough = std::max<std::size_t>(1, typed.size() / 3);
  std::string best;
  std::size_t best_distance = near_enough + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(typed, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string hint(std::string_view typed, const std::vector<std::string>& known) {
  const std::string best = nearest(typed, known);
  return best.empty() ? std::string() : " (did you mean \"" + best + "\"?)";
}

}  // namespace holdfast::cli
