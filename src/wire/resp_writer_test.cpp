#include "wire/resp_writer.hpp"

#include "wire/resp_stream_fixture.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace holdfast::wire {
namespace {

TEST(resp_writer, writes_a_command_as_an_array_of_bulk_strings) {
  std::string out;
  resp_writer to(out);
  const std::string value = "0a1b";
  to.command("SET", std::string_view("a key"), value, "NX", "PX", 30'000);
  EXPECT_EQ(out,
            "*6\r\n$3\r\nSET\r\n$5\r\na key\r\n$4\r\n0a1b\r\n$2\r\nNX\r\n$2\r\nPX\r\n"
            "$5\r\n30000\r\n");
}

TEST(resp_writer, appends_behind_what_is_not_sent_yet) {
  std::string out;
  resp_writer to(out);
  to.command("PING");
  to.command("GET", "");
  EXPECT_EQ(out, "*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$0\r\n\r\n");
}

TEST(resp_writer, writes_every_integer_in_full) {
  std::string out;
  resp_writer to(out);
  to.command("X", INT64_MIN, INT64_MAX, UINT64_MAX, 0, -7, std::uint8_t{255}, std::int8_t{-128});
  const auto read = read_all(out);
  ASSERT_EQ(read.messages.size(), 1u);
  std::vector<std::string> found;
  for (const reply& part : read.messages[0].elements) found.push_back(part.text);
  EXPECT_EQ(found, (std::vector<std::string>{"X", "-9223372036854775808", "9223372036854775807",
                                             "18446744073709551615", "0", "-7", "255", "-128"}));
}

TEST(resp_writer, a_part_may_lie_in_two_places) {
  std::string out;
  resp_writer to(out);
  to.command("GET", joined{"prefix:", "name"});
  EXPECT_EQ(out, "*2\r\n$3\r\nGET\r\n$11\r\nprefix:name\r\n");
  out.clear();
  to.begin(1);
  to.argument(joined{"", ""});
  EXPECT_EQ(out, "*1\r\n$0\r\n\r\n");
}

TEST(resp_writer, takes_a_command_in_parts_when_their_number_is_not_known_before) {
  std::string out;
  resp_writer to(out);
  to.begin(3);
  to.argument("DEL");
  to.argument("k1");
  EXPECT_FALSE(to.whole());
  to.argument("k2");
  EXPECT_TRUE(to.whole());
  EXPECT_EQ(out, "*3\r\n$3\r\nDEL\r\n$2\r\nk1\r\n$2\r\nk2\r\n");
}

RC_GTEST_PROP(resp_writer, what_it_writes_is_read_back, (const std::vector<std::string>& parts)) {
  RC_PRE(!parts.empty());
  std::string out;
  resp_writer to(out);
  to.begin(parts.size());
  for (const auto& part : parts) to.argument(part);
  const auto read = read_all(out);
  RC_ASSERT(read.messages.size() == 1u);
  RC_ASSERT(read.messages[0].elements.size() == parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    RC_ASSERT(read.messages[0].elements[i].text == parts[i]);
  }
}

TEST(resp_writer_death, a_command_with_a_part_missing_or_too_many_is_a_broken_invariant) {
  std::string out;
  EXPECT_DEATH(
      {
        resp_writer to(out);
        to.begin(2);
        to.argument("GET");
        to.begin(1);
      },
      "broken invariant");
  EXPECT_DEATH(resp_writer(out).argument("GET"), "broken invariant");
  EXPECT_DEATH(resp_writer(out).begin(0), "broken invariant");
}

}  // namespace
}  // namespace holdfast::wire
