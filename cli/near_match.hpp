#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

/// How many letters must be inserted, deleted, replaced or swapped with a neighbour to get from `a`
/// to `b` (optimal string alignment distance).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The one of `known` that was most probably meant, or nothing when none is near enough.
std::string nearest(std::string_view typed, const std::vector<std::string>& known);

/// ` (did you mean "x"?)`, or nothing.
std::string hint(std::string_view typed, const std::vector<std::string>& known);

}  // namespace holdfast::cli
