#include "core/sanitizer.hpp"
#include "tests/process/child.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace holdfast::tests {
namespace {

using namespace std::chrono_literals;

/// Of many sizes, so that the allocator's own lists are asked for more.
void allocate() {
  std::vector<std::unique_ptr<char[]>> all;
  for (std::size_t size = 16; size < 4'000; size += 48) {
    all.push_back(std::make_unique<char[]>(size));
  }
}

TEST(fork_under_asan, a_child_may_allocate_while_its_parents_threads_do) {
#if HOLDFAST_UNDER_TSAN
  GTEST_SKIP() << "TSan takes its own locks";
#endif
  std::atomic<bool> over{};
  std::vector<std::thread> busy;
  for (int i = 0; i < 2; ++i) {
    busy.emplace_back([&over] {
      while (!over) allocate();
    });
  }
  for (int i = 0; i < 20 && !testing::Test::HasFailure(); ++i) {
    auto child = process::child::fork([] {
      allocate();
      return 0;
    });
    EXPECT_EQ(child.wait(20s), 0) << i;
  }
  over = true;
  for (auto& t : busy) t.join();
}

}  // namespace
}  // namespace holdfast::tests
