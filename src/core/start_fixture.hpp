// When the tests of the machines begin.
#pragma once

#include "holdfast/clock.hpp"

#include <chrono>

namespace holdfast::core {

/// Not zero: a machine that takes zero for an instant of its own is wrong about it.
inline const time_point t0{std::chrono::seconds{1000}};

}  // namespace holdfast::core
