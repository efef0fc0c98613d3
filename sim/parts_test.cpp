#include "sim/host.hpp"
#include "sim/random.hpp"
#include "sim/schedule.hpp"

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

TEST(host_clock, runs_fast_or_slow_by_its_error) {
  EXPECT_EQ(host_clock(5s, 10'000).read(100s), time_point{106s});
  EXPECT_EQ(host_clock(5s, -10'000).read(100s), time_point{104s});
}

TEST(host_clock, goes_on_from_where_it_was_when_its_rate_changes) {
  host_clock c(0s, 10'000);
  c.set_rate(100s, -10'000);
  EXPECT_EQ(c.read(100s), time_point{101s});
  EXPECT_EQ(c.read(200s), time_point{200s});
}

TEST(host_clock, tells_the_first_moment_at_which_a_time_is_reached) {
  random dice(1);
  for (int i = 0; i < 10'000; ++i) {
    host_clock c(dice.between(0s, 1'000'000s), dice.between(-100'000, 100'000));
    const time_point local = c.read({}) + dice.between(1ns, 100s);
    const moment t = c.when(local);
    ASSERT_GE(c.read(t), local);
    ASSERT_LT(c.read(t - 2ns), local);
  }
}

TEST(random, is_the_published_generator) {
  // The first outputs of xoshiro256** behind splitmix64(0), from the authors' reference code.
  random dice(0);
  EXPECT_EQ(dice.next(), 0x99ec5f36cb75f2b4U);
  EXPECT_EQ(dice.next(), 0xbf6e1f784956452aU);
}

TEST(schedule, runs_equal_moments_in_the_order_of_scheduling) {
  schedule s;
  std::vector<int> order;
  s.at(2ms, [&] { order.push_back(2); });
  s.at(1ms, [&] { s.at(2ms, [&] { order.push_back(3); }); });
  s.at(1ms, [&] { order.push_back(1); });
  while (s.step(1s)) {
  }
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
  EXPECT_EQ(s.now(), 1s);
}

}  // namespace
}  // namespace holdfast::sim
