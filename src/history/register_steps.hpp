#pragma once

#include "history/lock_steps.hpp"

namespace holdfast::history {

/// Whether the line shows storage that compares tokens.
bool shows_a_fence(const line& l) noexcept;

/// What the lines say about the fenced storage behind the name, by the time of call. A write that
/// failed in a way that leaves it open may have happened or not, at any time after its call. So may
/// the raise of the floor with which every operation under a token begins.
std::vector<step> register_steps(const std::vector<line>& lines, const line_indices& of_name);

}  // namespace holdfast::history
