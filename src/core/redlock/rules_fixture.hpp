#pragma once

#include "core/redlock/rules.hpp"

#include "gtest/gtest.h"

#include <cstddef>
#include <ostream>

namespace holdfast::core::redlock {

/// One switch of rules.hpp, and what is there only with it.
struct guarded {
  const char* name;
  bool rules::*rule;
  bool (*holds)();
};

inline std::ostream& operator<<(std::ostream& out, const guarded& g) { return out << g.name; }

/// Those of which nodes vote and how they come back, in rules_of_nodes_test.cpp.
inline constexpr std::size_t rules_of_nodes = 25;

struct guarding_rules : ::testing::TestWithParam<guarded> {
  ~guarding_rules() override { active = rules{}; }

  static void expect_that_it_matters() {
    EXPECT_TRUE(GetParam().holds());
    active.*GetParam().rule = false;
    EXPECT_FALSE(GetParam().holds());
  }
};

}  // namespace holdfast::core::redlock
