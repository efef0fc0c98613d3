#include "io/thread/random.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

namespace holdfast::io {
namespace {

TEST(random, gives_no_number_twice) {
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(seen.insert(random_bits()).second);
}

TEST(random, gives_two_threads_different_numbers) {
  const auto own = random_session_id();
  session_id others;
  std::thread([&] { others = random_session_id(); }).join();
  EXPECT_NE(own, others);
}

TEST(random, gives_a_forked_child_other_numbers_than_its_parent) {
  static_cast<void>(random_bits());  // So that there is something to inherit.
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::uint64_t bits = random_bits();
    ::_exit(::write(ends[1], &bits, sizeof bits) == sizeof bits ? 0 : 1);
  }
  std::uint64_t of_child{};
  ASSERT_EQ(::read(ends[0], &of_child, sizeof of_child), ssize_t{sizeof of_child});
  ::waitpid(child, nullptr, 0);
  EXPECT_NE(random_bits(), of_child);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace holdfast::io
