#pragma once

#include <holdfast/clock.hpp>

#include <stop_token>

namespace holdfast::io {

/// Blocks for `length`, or until `stop` is requested. True when the whole time has passed.
/// For pacing only: the wait is on CLOCK_MONOTONIC.
bool pause(duration length, std::stop_token stop);

}  // namespace holdfast::io
