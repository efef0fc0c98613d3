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

/// Values of the authors' own test suite (isthe.com/chongo/src/fnv/test_fnv.c).
TEST(fnv1a, is_the_published_function) {
  static_assert(fnv1a("") == 0xcbf29ce484222325U);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8U);
  EXPECT_EQ(fnv1a("bar", fnv1a("foo")), fnv1a("foobar"));
}

}  // namespace
}  // namespace holdfast::core
