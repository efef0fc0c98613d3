#pragma once

#include <holdfast/duration.hpp>

#include <algorithm>
#include <chrono>
#include <string>

namespace holdfast::client {

/// A length of time that was measured, to milliseconds, or from ten seconds on to seconds: what is
/// finer says nothing to people. Never more than it is.
inline std::string for_people(duration d) {
  using namespace std::chrono;
  const duration whole = d < 10s ? duration(floor<milliseconds>(d)) : duration(floor<seconds>(d));
  return print_duration(std::max(whole, duration::zero()));
}

}  // namespace holdfast::client
