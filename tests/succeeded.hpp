#pragma once

#include <holdfast/error.hpp>

#include <gtest/gtest.h>

namespace holdfast {

/// For EXPECT_TRUE, which says of a bare result only that it was false.
template <class T>
testing::AssertionResult succeeded(const result<T>& r) {
  if (r) return testing::AssertionSuccess();
  return testing::AssertionFailure() << r.error().message();
}

}  // namespace holdfast
