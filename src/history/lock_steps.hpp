#pragma once

#include "history/step.hpp"

#include <holdfast/history.hpp>

#include <vector>

namespace holdfast::history {

/// Lines about one name, as indices into all lines.
using line_indices = std::vector<std::size_t>;

/// How a name's grants are read.
struct lock_reading {
  bool fenced{};         ///< Tokens distinguish the grants.
  bool writes_prove{};   ///< Nothing but the lock stands before the storage.
  bool all_exclusive{};  ///< So a proof whose grant is not there is an exclusive one's.
};

/// What the lines say about the lock. What failed, and what never returned, says nothing: a grant
/// of which nobody heard is never needed to explain anything.
std::vector<step> lock_steps(const std::vector<line>& lines, const line_indices& of_name,
                             const lock_reading& how);

/// The same with a grant at any time for every proof that has none.
std::vector<step> with_assumed_grants(std::vector<step> steps);

}  // namespace holdfast::history
