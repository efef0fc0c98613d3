// What the tests of a client ask of every outcome.
#pragma once

#include "holdfast/clock.hpp"
#include "holdfast/error.hpp"

#include <chrono>
#include <string>
#include <thread>

namespace holdfast::client::testing {

/// `errc{}` for a value.
errc code(const auto& r) { return r ? errc{} : r.error().code(); }

inline bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

template <class Predicate>
bool eventually(Predicate p, duration most = std::chrono::seconds{30}) {
  const auto end = clock::now() + most;
  for (;;) {
    // The last look is behind the end: this process itself may have stood still until then.
    const bool over = clock::now() >= end;
    if (p()) return true;
    if (over) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

}  // namespace holdfast::client::testing
