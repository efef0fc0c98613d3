#pragma once

#include "history/step.hpp"

#include <optional>
#include <vector>

namespace holdfast::history {

/// What can have raised the floor above a refused token, of all that was called before the refusal
/// returned. The lowest of them, for a low floor shuts out the fewest.
struct floor_reasons {
  const step* refused{};
  const step* exclusive{};  ///< One that shuts out every lower token; nullptr: there is none.
  const step* shared{};     ///< One that shuts out lower exclusive tokens only; likewise.
};

/// Of each refused step. `by_call` is ordered by the time of call and outlives the answer.
std::vector<floor_reasons> floor_reasons_of(const std::vector<step>& by_call);

/// The steps that are left to search for an order of values; nothing when some refusal had no
/// reason, or one that shuts out somebody who passed.
///
/// A token takes effect twice: it raises the floor on arrival, and later the value is set or read.
/// Only the second needs a search. An order of values in which nobody comes after somebody who
/// shuts him out lets every arrival come as early as it can, which is with its call, or with the
/// last of those it would shut out. No refusal wants it later. So calls alone decide on refusals,
/// and what raised the floor without a value is no step of the search, however much there is.
/// Neither is a write that may be missing and that no read has seen.
std::optional<std::vector<step>> without_refusals(const std::vector<step>& by_call);

}  // namespace holdfast::history
