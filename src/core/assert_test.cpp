#include "core/assert.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace holdfast::core {
namespace {

TEST(fail, is_the_last_to_speak) {
  EXPECT_EXIT(fail("why"), testing::KilledBySignal(SIGABRT), "^holdfast: why\n$");
}

}  // namespace
}  // namespace holdfast::core
