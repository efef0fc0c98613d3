#include "core/backoff.hpp"

#include "core/splitmix.hpp"

#include "gtest/gtest.h"

namespace holdfast::core {
namespace {

using namespace std::chrono_literals;

TEST(backoff, doubles_up_to_its_limit_and_stays_there) {
  backoff pause(10ms, 1s);
  duration whole = 10ms;
  for (int n = 0; n < 200; ++n) {
    backoff low = pause;
    EXPECT_EQ(low.next(0), whole / 2);
    EXPECT_EQ(pause.next(static_cast<std::uint64_t>((whole / 2).count())), whole);
    whole = std::min<duration>(2 * whole, 1s);
  }
}

TEST(backoff, never_leaves_its_range_whatever_the_randomness) {
  std::uint64_t seed = 7;
  backoff pause(10ms, 1s);
  for (int n = 0; n < 10'000; ++n) {
    const duration d = pause.next(splitmix(seed));
    EXPECT_GE(d, 5ms);
    EXPECT_LE(d, 1s);
  }
  EXPECT_LE(pause.next(UINT64_MAX), 1s);
  for (std::uint64_t random = 0; random < 10; ++random) {
    backoff shortest(4ns, 100ns);
    const duration d = shortest.next(random);
    EXPECT_GE(d, 2ns);
    EXPECT_LE(d, 4ns);
  }
}

TEST(backoff, starts_again_after_a_reset) {
  backoff pause(10ms, 1s);
  for (int n = 0; n < 5; ++n) pause.next(0);
  pause.reset();
  EXPECT_EQ(pause.next(0), 5ms);
}

TEST(backoff, does_not_overflow_at_the_largest_limit) {
  backoff pause(1ns, duration::max());
  for (int n = 0; n < 200; ++n) EXPECT_GE(pause.next(UINT64_MAX), 0ns);
}

TEST(backoff_death, refuses_a_first_pause_of_zero_or_over_the_limit) {
  EXPECT_DEATH(backoff(0ns, 1s), "broken invariant");
  EXPECT_DEATH(backoff(2s, 1s), "broken invariant");
}

// The first outputs for seed 0, from the authors' reference implementation.
TEST(splitmix, gives_the_published_sequence) {
  std::uint64_t state = 0;
  EXPECT_EQ(splitmix(state), 0xe220a8397b1dcdafU);
  EXPECT_EQ(splitmix(state), 0x6e789e6aa1b965f4U);
}

}  // namespace
}  // namespace holdfast::core
