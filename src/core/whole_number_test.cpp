#include "core/whole_number.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace holdfast::core {
namespace {

TEST(whole_number, is_all_of_the_text) {
  EXPECT_EQ(whole_number<int>("0"), 0);
  EXPECT_EQ(whole_number<int>("007"), 7);
  EXPECT_EQ(whole_number<int>("-12"), -12);
  EXPECT_EQ(whole_number<std::uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(whole_number<unsigned>("fF", 16), 255U);
  EXPECT_EQ(whole_number<std::uint8_t>("65"), 65) << "no letter";
}

TEST(whole_number, is_nothing_of_a_part_of_the_text) {
  for (const char* text : {"", " ", "-", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "1\n", "one"}) {
    EXPECT_FALSE(whole_number<int>(text)) << text;
  }
  EXPECT_FALSE(whole_number<int>(std::string_view("1\0", 2)));
  EXPECT_FALSE(whole_number<unsigned>("0x1f", 16));
  EXPECT_FALSE(whole_number<unsigned>("g", 16));
}

TEST(whole_number, is_nothing_where_it_does_not_fit) {
  EXPECT_FALSE(whole_number<unsigned>("-1"));
  EXPECT_FALSE(whole_number<std::uint8_t>("256"));
  EXPECT_FALSE(whole_number<std::uint64_t>("18446744073709551616"));
  EXPECT_FALSE(whole_number<std::int64_t>("-9223372036854775809"));
}

}  // namespace
}  // namespace holdfast::core
