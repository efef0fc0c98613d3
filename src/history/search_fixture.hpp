#pragma once

#include "core/rounds_fixture.hpp"

#include <holdfast/history.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace holdfast::history {

constexpr std::int64_t open_end = std::int64_t{1} << 40;

/// Until when it has taken effect, if it does.
inline std::int64_t end_of(const line& l) {
  return l.outcome == "ok" || l.outcome == "lost" || l.outcome == "stale_token" ? l.returned
                                                                                : open_end;
}

/// A small history that can have happened.
class run {
 public:
  explicit run(std::uint64_t seed) : random_(seed) {}

  /// One thing in it is changed; it may or may not be possible still.
  std::vector<line> spoilt(std::vector<line> lines) {
    line& l = lines[below(lines.size())];
    switch (below(4)) {
      case 0:
        if (l.token.value != 0) l.token.value = 1 + below(8);
        break;
      case 1: {
        const auto moved = static_cast<std::int64_t>(below(40));
        l.returned = moved + l.returned - l.invoked + 1;
        l.invoked = moved + 1;
        break;
      }
      case 2:
        l.returned = l.invoked;
        break;
      default:
        if (l.value) l.value = std::string(1, static_cast<char>('p' + below(3)));
        if (l.what == operation::release) l.outcome = l.outcome == "ok" ? "lost" : "ok";
        if (l.what == operation::write || (l.what == operation::read && l.token.value != 0)) {
          const bool killed = l.what == operation::write && below(3) == 0;
          l.outcome = killed ? "pending" : l.outcome == "ok" ? "stale_token" : "ok";
          l.returned = killed ? 0 : std::max(l.returned, l.invoked + 1);
        }
    }
    return lines;
  }

 protected:
  std::size_t below(std::size_t n) { return random_() % n; }

 private:
  std::mt19937_64 random_;
};

inline bool accepted(const std::vector<line>& lines, std::optional<model> as = {}) {
  const auto all = judge(lines, {.as = as, .memory_max = {}});
  return std::all_of(all.begin(), all.end(), [](const judgement& j) {
    EXPECT_NE(j.found, verdict::undecided);
    return j.found == verdict::linearizable;
  });
}

inline std::string shown(const std::vector<line>& lines) {
  std::string text;
  for (const line& l : lines) text += print(l);
  return text;
}

inline std::uint64_t rounds() {
  return static_cast<std::uint64_t>(core::shortened(core::rounds(2'000, 20'000)));
}

}  // namespace holdfast::history
