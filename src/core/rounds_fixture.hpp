// How often tests repeat themselves.
#pragma once

#include "core/sanitizer.hpp"

#include <algorithm>
#include <cstdlib>

namespace holdfast::core {

/// How many times as long computing takes in this build, roughly.
#if HOLDFAST_UNDER_TSAN
inline constexpr int slowness = 20;
#elif HOLDFAST_UNDER_ASAN
inline constexpr int slowness = 4;
#else
inline constexpr int slowness = 1;
#endif

/// Whether this is the long run, `script/test --full`.
inline bool is_full_run() { return std::getenv("HOLDFAST_TEST_FULL") != nullptr; }

inline int rounds(int reduced, int full) { return is_full_run() ? full : reduced; }

/// The share of an instrumented build, for what only computes: what it looks for shows in any of
/// many rounds, and the release build of a full run runs them all.
constexpr int shortened(int count) { return std::max(count / slowness, 1); }

}  // namespace holdfast::core
