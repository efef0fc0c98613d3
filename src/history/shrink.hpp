#pragma once

#include "history/step.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace holdfast::history {

/// Whether steps can be ordered, and what that cost.
struct trial {
  bool violates{};
  std::uint64_t tries{};
};
using try_steps = std::function<trial(const std::vector<step>&)>;

/// The smallest part of a violating history that is found without more than `tries_max`: what is
/// left cannot be ordered by itself, and unless the limit was reached nothing can be left out of
/// it. Left out is only what leaves every order that was possible possible, so that whatever
/// cannot be ordered then could not be ordered before.
std::vector<step> shrink(std::vector<step> violating, const try_steps& attempt,
                         std::uint64_t tries_max);

}  // namespace holdfast::history
