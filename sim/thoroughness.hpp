#pragma once

#include "core/rounds_fixture.hpp"

#include <cstdint>

namespace holdfast::sim {

/// How many times more runs there are when HOLDFAST_TEST_FULL is set.
inline std::uint64_t thoroughness() { return core::is_full_run() ? 100 : 1; }

}  // namespace holdfast::sim
