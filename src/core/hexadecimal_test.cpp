#include "core/hexadecimal.hpp"

#include "core/fnv1a.hpp"

#include <gtest/gtest.h>

namespace holdfast::core {
namespace {

TEST(hexadecimal, has_as_many_digits_as_it_needs_and_at_least_those_asked_for) {
  EXPECT_EQ(hexadecimal(0), "0");
  EXPECT_EQ(hexadecimal(0xbeef), "beef");
  EXPECT_EQ(hexadecimal(0xbeef, 3), "beef");
  EXPECT_EQ(hexadecimal(0xbeef, 6), "00beef");
  EXPECT_EQ(hexadecimal(~0ULL, 16), "ffffffffffffffff");
  EXPECT_EQ(hexadecimal(1, 16), "0000000000000001");
}

TEST(hexadecimal, is_appended) {
  std::string text = "0x";
  append_hexadecimal(text, 0xbeef, 6);
  EXPECT_EQ(text, "0x00beef");
}

TEST(hexadecimal, a_byte_always_has_two_digits) {
  std::string text;
  for (const int byte : {0, 0x0a, 0xf0, 0xff}) append_byte(text, static_cast<std::uint8_t>(byte));
  EXPECT_EQ(text, "000af0ff");
}

TEST(hexadecimal, digits_of_either_case_have_a_value_and_nothing_else_has) {
  for (int c = 0; c < 256; ++c) {
    const auto at = std::string_view("0123456789abcdefABCDEF").find(static_cast<char>(c));
    const auto value = digit_value(static_cast<char>(c));
    ASSERT_EQ(value.has_value(), at != std::string_view::npos) << c;
    EXPECT_EQ(value.value_or(0), value ? (at < 16 ? at : at - 6) : 0U) << c;
  }
}

/// Values of the authors' own test suite (isthe.com/chongo/src/fnv/test_fnv.c).
TEST(fnv1a, is_the_published_function) {
  static_assert(fnv1a("") == 0xcbf29ce484222325U);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8U);
  EXPECT_EQ(fnv1a("bar", fnv1a("foo")), fnv1a("foobar"));
}

}  // namespace
}  // namespace holdfast::core
