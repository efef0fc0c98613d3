#pragma once

#include <holdfast/store.hpp>

#include <vector>

namespace holdfast::io {

/// Whether this host gives what the library builds on: CLOCK_BOOTTIME and timers on it, a boot id.
/// Changes nothing.
std::vector<finding> check_host();

/// Whether the end of a process is told to us at once: only where a store goes by it.
finding check_pidfd();

}  // namespace holdfast::io
