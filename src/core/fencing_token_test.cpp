#include <holdfast/fencing_token.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

namespace holdfast {
namespace {

fencing_token sample(std::uint64_t value = 42, std::string lock = "nightly",
                     std::string store = "local/0f") {
  return {{store_identity(std::move(store)), lock_name(std::move(lock))}, token{value}};
}

std::string refusal(std::string_view text) {
  const auto read = fencing_token::parse(text);
  if (read) return "accepted";
  EXPECT_EQ(read.error().code(), errc::invalid_argument);
  return read.error().message();
}

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(fencing_token, is_written_as_value_lock_and_store) {
  EXPECT_EQ(sample().str(), "42:nightly:local/0f");
  EXPECT_EQ(sample(7, "a b:c%\xc3\xa4", "etcd/1:2").str(), "7:a%20b%3ac%25%c3%a4:etcd/1:2");
}

TEST(fencing_token, reads_what_it_wrote) {
  const auto t = sample(7, "a b:c%\xc3\xa4", "etcd/1:2 %");
  const auto read = fencing_token::parse(t.str());
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, t);
}

RC_GTEST_PROP(fencing_token, every_token_reads_back_from_one_line_of_printable_ascii, ()) {
  const auto byte = rc::gen::suchThat(rc::gen::arbitrary<char>(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
  });
  const auto text = rc::gen::nonEmpty(rc::gen::container<std::string>(byte));
  const auto value = *rc::gen::inRange<std::uint64_t>(1, token_max.value + 1);
  const auto t = sample(value, *text, *text);
  RC_PRE(t.check().has_value());
  const auto wire = t.str();
  RC_ASSERT(std::ranges::all_of(wire, [](char c) { return c > ' ' && c <= '~'; }));
  const auto read = fencing_token::parse(wire);
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == t);
}

// Otherwise two texts would be one token, and whoever compares texts would be wrong.
RC_GTEST_PROP(fencing_token, whatever_is_read_is_written_in_the_same_way, ()) {
  auto wire = sample(42, "a b", "x:%y").str();
  const auto at = *rc::gen::inRange<std::size_t>(0, wire.size());
  wire[at] = *rc::gen::elementOf(std::string("0a%:A \n~"));
  const auto read = fencing_token::parse(wire);
  if (read) RC_ASSERT(read->str() == wire);
}

TEST(fencing_token, the_longest_one_fits_its_limit) {
  const auto t = sample(token_max.value, std::string(lock_name::bytes_max, ' '),
                        std::string(store_identity::bytes_max, ' '));
  ASSERT_TRUE(t.check());
  EXPECT_EQ(t.str().size(), fencing_token::wire_max);
  EXPECT_TRUE(fencing_token::parse(t.str()));
  EXPECT_TRUE(says(refusal(t.str() + "x"), "bytes"));
}

TEST(fencing_token, refuses_values_that_are_no_token) {
  EXPECT_TRUE(says(refusal("0:a:b"), "value is 0"));
  EXPECT_TRUE(says(refusal("01:a:b"), "leading zero"));
  EXPECT_TRUE(says(refusal("-1:a:b"), "not a decimal"));
  EXPECT_TRUE(says(refusal("+1:a:b"), "not a decimal"));
  EXPECT_TRUE(says(refusal("1 :a:b"), "not a decimal"));
  EXPECT_TRUE(says(refusal(":a:b"), "no value"));
  EXPECT_TRUE(says(refusal("9007199254740992:a:b"), "2^53"));
  EXPECT_TRUE(says(refusal("99999999999999999999999:a:b"), "2^53"));
  EXPECT_TRUE(fencing_token::parse("9007199254740991:a:b"));
}

TEST(fencing_token, refuses_a_token_without_its_source) {
  EXPECT_TRUE(says(refusal(""), "names no lock"));
  EXPECT_TRUE(says(refusal("42"), "names no lock"));
  EXPECT_TRUE(says(refusal("42:a"), "names no store"));
  EXPECT_TRUE(says(refusal("42::b"), "lock name is empty"));
  EXPECT_TRUE(says(refusal("42:a:"), "store identity has 0 bytes"));
}

TEST(fencing_token, refuses_damaged_escapes_and_says_where) {
  EXPECT_TRUE(says(refusal("42:a%2:b"), "byte 4"));
  EXPECT_TRUE(says(refusal("42:a:b%"), "byte 6"));
  EXPECT_TRUE(says(refusal("42:a%zz:b"), "byte 4"));
  EXPECT_TRUE(says(refusal("42:a%2F:b"), "lower-case"));
  EXPECT_TRUE(says(refusal("42:a%61:b"), "written plainly"));
  EXPECT_TRUE(says(refusal("42:a b:c"), "must be written %hh"));
  EXPECT_TRUE(says(refusal("42:a%0a:c"), "control character"));
  EXPECT_TRUE(says(refusal("42:a:c%00"), "control character"));
}

TEST(fencing_token, a_refusal_shows_no_control_characters_and_is_short) {
  const auto text = refusal("4\x1b[2J" + std::string(1000, 'x'));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_LT(text.size(), 300U);
}

TEST(fencing_token, check_tells_what_a_storage_may_not_compare) {
  EXPECT_TRUE(sample().check());
  EXPECT_TRUE(says(sample(0).check().error().message(), "tokens=off"));
  EXPECT_FALSE(sample(token_max.value + 1).check());
  EXPECT_FALSE(sample(1, "").check());
  EXPECT_FALSE(sample(1, "a", std::string(store_identity::bytes_max + 1, 'x')).check());
}

TEST(token_source, reads_what_it_wrote_and_nothing_else) {
  const auto from = sample(1, "a:b", "c:d").from;
  EXPECT_EQ(from.str(), "a%3ab:c:d");
  EXPECT_EQ(token_source::parse(from.str()).value(), from);
  EXPECT_FALSE(token_source::parse("a"));
  EXPECT_FALSE(token_source::parse("a:b c"));
  EXPECT_NE(from, sample(1, "a:b", "c:e").from);
}

}  // namespace
}  // namespace holdfast
