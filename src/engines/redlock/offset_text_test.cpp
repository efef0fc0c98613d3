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

}  // namespace
}  // namespace holdfast::engines::redlock
