#include "cli/but_for_durations.hpp"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

TEST(but_for_durations, leaves_out_how_long_something_lasts) {
  EXPECT_EQ(but_for_durations("nothing is granted for another 2s."),
            but_for_durations("nothing is granted for another 1m30s."));
  EXPECT_EQ(but_for_durations("not told yet, 1.5ms after it was asked (for 12s; wait)"),
            "not told yet,  after it was asked (for ; wait)");
  EXPECT_EQ(but_for_durations("20s"), "");
}

TEST(but_for_durations, leaves_all_other_numbers) {
  for (const char* text : {"1 of 3 nodes vote", "127.0.0.1:6379: ERR 12", "node2s a2s", "2", "...",
                           "", "\xc3\xa4 [::1]:1"}) {
    EXPECT_EQ(but_for_durations(text), text);
  }
}

}  // namespace
}  // namespace holdfast::cli
