#include "engines/redlock/look_at_nodes.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace holdfast::engines::redlock {
namespace {

using namespace std::chrono_literals;

std::string offset_after(std::chrono::milliseconds since_sent,
                         std::chrono::milliseconds round_trip) {
  const wall_time begin{std::chrono::seconds{1'700'000'000}};
  const auto at = begin.time_since_epoch() + since_sent;
  return offset_text(
      {std::chrono::duration_cast<core::redlock::server_time>(at), begin, begin + round_trip});
}

TEST(offset_text, takes_no_delay_for_a_difference_of_clocks) {
  EXPECT_EQ(offset_after(68ms, 136ms), "its clock is within 68 ms of this host's");
  for (const auto at : {0ms, 136ms}) {
    EXPECT_EQ(offset_after(at, 136ms), "its clock is within 136 ms of this host's");
  }
}

TEST(offset_text, tells_a_difference_with_its_bound) {
  EXPECT_EQ(offset_after(505ms, 10ms), "its clock is +500 ms (+-5 ms) from this host's");
  EXPECT_EQ(offset_after(-495ms, 10ms), "its clock is -500 ms (+-5 ms) from this host's");
}

TEST(offset_figures, have_the_sign_and_the_bound_in_seconds) {
  const wall_time begin{std::chrono::seconds{1'700'000'000}};
  const auto at = std::chrono::duration_cast<core::redlock::server_time>(begin.time_since_epoch());
  const auto f = offset_figures({at - 495ms, begin, begin + 10ms});
  ASSERT_EQ(f.size(), 2U);
  EXPECT_EQ(f[0].name, "clock_offset_s");
  EXPECT_NEAR(f[0].value, -0.5, 1e-9);
  EXPECT_EQ(f[1].name, "clock_offset_bound_s");
  EXPECT_NEAR(f[1].value, 0.005, 1e-9);
  EXPECT_TRUE(offset_figures({{}, begin, begin + 10ms}).empty()) << "it did not answer";
}

}  // namespace
}  // namespace holdfast::engines::redlock
