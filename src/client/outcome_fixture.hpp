// What the tests of a client ask of every outcome.
#pragma once

#include "holdfast/clock.hpp"
#include "holdfast/error.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

namespace holdfast::client::testing {

/// `errc{}` for a value.
errc code(const auto& r) { return r ? errc{} : r.error().code(); }

inline bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Looks again and again, with pauses of a 16th of what has passed, between 1 and 20 ms: looks are
/// not to take the processors from what is looked at. False when `most` passed first.
template <class Predicate>
bool eventually(Predicate p, duration most = std::chrono::seconds{30}) {
  const auto begun = clock::now();
  for (;;) {
    // The last look is behind the end: this process itself may have stood still until then.
    const duration passed = clock::now() - begun;
    if (p()) return true;
    if (passed >= most) return false;
    std::this_thread::sleep_for(std::clamp<duration>(passed / 16, std::chrono::milliseconds{1},
                                                     std::chrono::milliseconds{20}));
  }
}

}  // namespace holdfast::client::testing
