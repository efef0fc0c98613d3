#include <holdfast/duration.hpp>

#include "gtest/gtest.h"

#include <rapidcheck/gtest.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

TEST(duration, reads_every_unit_and_their_sums) {
  const std::pair<const char*, duration> cases[] = {{"1h", 1h},
                                                    {"2m", 2min},
                                                    {"90s", 90s},
                                                    {"250ms", 250ms},
                                                    {"10us", 10us},
                                                    {"7ns", 7ns},
                                                    {"1m30s", 90s},
                                                    {"1h1m1s1ms1us1ns", 3661001001001ns},
                                                    {"1.5s", 1500ms},
                                                    {"0s", 0s},
                                                    {"0.000000001s", 1ns},
                                                    {"1.5h", 90min},
                                                    {"007s", 7s},
                                                    {"1h0.5s", 1h + 500ms}};
  for (const auto& [text, value] : cases) {
    const auto d = parse_duration(text);
    ASSERT_TRUE(d) << text;
    EXPECT_EQ(*d, value) << text;
  }
}

TEST(duration, refuses_everything_else_with_the_reason) {
  const std::pair<const char*, const char*> cases[] = {{"", "empty"},
                                                       {"-1s", "negative"},
                                                       {"15", "no unit"},
                                                       {"s", "no number"},
                                                       {"1.s", "no number"},
                                                       {".5s", "no number"},
                                                       {"1d", "unit other"},
                                                       {"1 s", "unit other"},
                                                       {"1S", "unit other"},
                                                       {"1s1m", "large"},
                                                       {"1s1s", "twice"},
                                                       {"1.5m1s", "fraction"},
                                                       {"0.5ns", "finer"},
                                                       {"1.0000000001s", "finer"},
                                                       {"forever", "no number"},
                                                       {"99999999999h", "too long"},
                                                       {"9223372036854775807ns", "too long"},
                                                       {"99999999999999999999s", "too long"},
                                                       {"9223372036.854775808s", "too long"},
                                                       {"+1s", "no number"},
                                                       {"1e3s", "unit other"}};
  for (const auto& [text, why] : cases) {
    const auto d = parse_duration(text);
    ASSERT_FALSE(d) << text;
    EXPECT_EQ(d.error(), errc::invalid_argument);
    EXPECT_NE(d.error().message().find(why), std::string::npos) << d.error().message();
  }
}

TEST(duration, repeats_only_a_short_and_harmless_part_of_bad_text) {
  const auto d = parse_duration("\x1b[31m\n" + std::string(1000, 'x'));
  ASSERT_FALSE(d);
  EXPECT_LT(d.error().message().size(), 200u);
  for (const char c : d.error().message()) EXPECT_TRUE(c >= ' ' && c < 0x7f);
}

TEST(duration, the_largest_below_forever_can_be_read) {
  EXPECT_EQ(*parse_duration("9223372036854775806ns"), forever - 1ns);
}

TEST(duration, prints_for_people) {
  EXPECT_EQ(print_duration(0s), "0s");
  EXPECT_EQ(print_duration(90s), "1m30s");
  EXPECT_EQ(print_duration(1500ms), "1.5s");
  EXPECT_EQ(print_duration(250ms), "250ms");
  EXPECT_EQ(print_duration(1h + 1ns), "1h0.000000001s");
  EXPECT_EQ(print_duration(forever), "forever");
  EXPECT_EQ(print_duration(-90s), "-1m30s");
  EXPECT_EQ(print_duration(duration::min()).front(), '-');
}

RC_GTEST_PROP(duration_property, what_is_printed_is_read_back_exactly, ()) {
  const duration d(*rc::gen::inRange<std::int64_t>(0, INT64_MAX));
  const auto again = parse_duration(print_duration(d));
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == d);
}

}  // namespace
}  // namespace holdfast
