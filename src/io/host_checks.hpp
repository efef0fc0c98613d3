#pragma once

#include <holdfast/store.hpp>

#include <vector>

namespace holdfast::io {

/// Whether this host gives what the library builds on: CLOCK_BOOTTIME and timers on it, a boot id,
/// pidfds. Changes nothing.
std::vector<finding> check_host();

}  // namespace holdfast::io
