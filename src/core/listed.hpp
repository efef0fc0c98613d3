#pragma once

#include <string>
#include <vector>

namespace holdfast::core {

/// For people: "a", "a and b", "a, b and c". At least one.
std::string listed(const std::vector<std::string>& names);

}  // namespace holdfast::core
