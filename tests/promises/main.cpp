#include "tests/promises/other_process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  if (holdfast::promises::is_other_process(argc, argv)) {
    return holdfast::promises::run_other_process(argv);
  }
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
