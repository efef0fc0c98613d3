#include "wire/resp_reader.hpp"

#include "wire/resp_stream_fixture.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace holdfast::wire {
namespace {

reply text(std::string bytes) { return {.kind = reply_kind::text, .text = std::move(bytes)}; }
reply integer(std::int64_t value) { return {.kind = reply_kind::integer, .integer = value}; }
reply real(double value) { return {.kind = reply_kind::real, .number = value}; }
reply yes_or_no(bool value) { return {.kind = reply_kind::boolean, .integer = value ? 1 : 0}; }

/// The only message of `bytes`, the same at once and byte by byte.
reply read_one(std::string_view bytes) {
  const reading whole = read_all(bytes);
  EXPECT_FALSE(whole.failure) << whole.failure->message;
  EXPECT_EQ(whole.messages.size(), 1u) << bytes;
  EXPECT_EQ(read_all(bytes, 1).messages, whole.messages);
  return whole.messages.empty() ? reply{} : whole.messages[0];
}

TEST(resp_reader, reads_what_redis_7_sends_in_resp2) {
  const std::pair<const char*, reply> sent[] = {
      {"+PONG\r\n", {.kind = reply_kind::status, .text = "PONG"}},
      {":12345\r\n", integer(12345)},
      {"$11\r\nHello World\r\n", text("Hello World")},
      {"$-1\r\n", {}},
      {"*-1\r\n", {}},
      {"$0\r\n\r\n", text("")},
      {"*0\r\n", {.kind = reply_kind::array}},
      {"-NOSCRIPT No matching script. Please use EVAL.\r\n",
       {.kind = reply_kind::error, .text = "NOSCRIPT No matching script. Please use EVAL."}},
      {"*5\r\n:1\r\n$1\r\na\r\n$-1\r\n+fine\r\n-MISCONF x\r\n",
       {.kind = reply_kind::array,
        .elements = {integer(1),
                     text("a"),
                     {},
                     {.kind = reply_kind::status, .text = "fine"},
                     {.kind = reply_kind::error, .text = "MISCONF x"}}}},
  };
  for (const auto& [bytes, expected] : sent) EXPECT_EQ(read_one(bytes), expected) << bytes;
}

// The answers of Redis 7.0.15 to DEBUG PROTOCOL after HELLO 3.
TEST(resp_reader, reads_what_redis_7_sends_in_resp3) {
  const std::pair<const char*, reply> sent[] = {
      {",3.141\r\n", real(3.141)},
      {"(1234567999999999999999999999999999999\r\n",
       {.kind = reply_kind::big_number, .text = "1234567999999999999999999999999999999"}},
      {"_\r\n", {}},
      {"#t\r\n", yes_or_no(true)},
      {"#f\r\n", yes_or_no(false)},
      {"~3\r\n:0\r\n:1\r\n:2\r\n",
       {.kind = reply_kind::set, .elements = {integer(0), integer(1), integer(2)}}},
      {"%2\r\n:0\r\n#f\r\n:1\r\n#t\r\n",
       {.kind = reply_kind::map,
        .elements = {integer(0), yes_or_no(false), integer(1), yes_or_no(true)}}},
      {"=29\r\ntxt:This is a verbatim\nstring\r\n", text("This is a verbatim\nstring")},
      {"|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n"
       "$39\r\nSome real reply following the attribute\r\n",
       text("Some real reply following the attribute")},
      {">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n",
       {.kind = reply_kind::push, .elements = {text("message"), text("c"), text("m")}}},
  };
  for (const auto& [bytes, expected] : sent) EXPECT_EQ(read_one(bytes), expected) << bytes;
}

TEST(resp_reader, reads_what_the_specification_allows_besides) {
  const double infinite = std::numeric_limits<double>::infinity();
  const std::pair<const char*, reply> allowed[] = {
      {"!8\r\nERR a\r\nb\r\n", {.kind = reply_kind::error, .text = "ERR a\r\nb"}},
      {"(-12\r\n", {.kind = reply_kind::big_number, .text = "-12"}},
      {"=4\r\nmkd:\r\n", text("")},
      {":+7\r\n", integer(7)},
      {":-9223372036854775808\r\n", integer(INT64_MIN)},
      {":9223372036854775807\r\n", integer(INT64_MAX)},
      {",inf\r\n", real(infinite)},
      {",-inf\r\n", real(-infinite)},
      {",10\r\n", real(10)},
      {",+1.5e3\r\n", real(1500)},
      {",-2.5E-1\r\n", real(-0.25)},
      {"+\r\n", {.kind = reply_kind::status}},
      {"%0\r\n", {.kind = reply_kind::map}},
  };
  for (const auto& [bytes, expected] : allowed) EXPECT_EQ(read_one(bytes), expected) << bytes;
  EXPECT_TRUE(std::isnan(read_all(",nan\r\n").messages.at(0).number));
}

TEST(resp_reader, leaves_attributes_out_wherever_they_stand) {
  EXPECT_EQ(read_one("|0\r\n|1\r\n+a\r\n*1\r\n|1\r\n+x\r\n+y\r\n:1\r\n:2\r\n"), integer(2));
  EXPECT_EQ(read_one("*2\r\n:1\r\n|1\r\n+a\r\n%1\r\n+b\r\n:9\r\n:2\r\n"),
            (reply{.kind = reply_kind::array, .elements = {integer(1), integer(2)}}));
  EXPECT_EQ(read_one("%1\r\n|1\r\n+a\r\n+b\r\n$1\r\nk\r\n|0\r\n:1\r\n"),
            (reply{.kind = reply_kind::map, .elements = {text("k"), integer(1)}}));
}

TEST(resp_reader, gives_a_push_between_two_replies_by_itself) {
  const auto read = read_all(":1\r\n>1\r\n+x\r\n:2\r\n");
  ASSERT_EQ(read.messages.size(), 3u);
  EXPECT_TRUE(read.messages[1].is(reply_kind::push));
  EXPECT_EQ(read.messages[2], integer(2));
}

TEST(resp_reader, nothing_of_a_message_is_left_in_the_next_one) {
  const auto read = read_all(
      "$2\r\nab\r\n:7\r\n,1.5\r\n*1\r\n:3\r\n#t\r\n_\r\n+s\r\n%1\r\n:1\r\n:2\r\n*0\r\n*-1\r\n");
  const std::vector<reply> expected = {
      text("ab"),
      integer(7),
      real(1.5),
      {.kind = reply_kind::array, .elements = {integer(3)}},
      yes_or_no(true),
      {},
      {.kind = reply_kind::status, .text = "s"},
      {.kind = reply_kind::map, .elements = {integer(1), integer(2)}},
      {.kind = reply_kind::array},
      {},
  };
  EXPECT_EQ(read.messages, expected);
}

TEST(resp_reader, gives_no_message_before_its_last_byte) {
  const std::string_view bytes = "|1\r\n+a\r\n+b\r\n*2\r\n$3\r\nabc\r\n:1\r\n";
  resp_reader reader;
  for (const char& c : bytes) {
    reader.feed(std::string_view(&c, 1));
    if (&c == &bytes.back()) break;
    ASSERT_EQ(reader.next(), nullptr);
  }
  EXPECT_NE(reader.next(), nullptr);
  EXPECT_EQ(reader.next(), nullptr);
}

TEST(resp_reader, receives_into_its_own_space) {
  resp_reader reader;
  const std::string_view bytes = ":1\r\n:2\r\n:3\r";
  const auto room = reader.space(100);
  ASSERT_EQ(room.size(), 100u);
  std::copy(bytes.begin(), bytes.end(), room.begin());
  reader.received(bytes.size());
  EXPECT_EQ(*reader.next(), integer(1));
  // In the middle of what was received: the rest is kept.
  reader.space(100)[0] = '\n';
  reader.received(1);
  EXPECT_EQ(*reader.next(), integer(2));
  EXPECT_EQ(*reader.next(), integer(3));
  EXPECT_EQ(reader.next(), nullptr);
}

RC_GTEST_PROP(resp_reader, reads_every_valid_stream_in_any_pieces, ()) {
  const auto input = *rc::gen::resize(2000, rc::gen::arbitrary<std::vector<std::uint8_t>>());
  choices from(input);
  stream_maker stream(from, from.below(2) == 0 ? dialect::resp3 : dialect::resp2);
  while (!from.empty()) stream.message();
  choices pieces(input);
  resp_reader reader;
  const auto read = read_in_pieces(reader, stream.bytes(), [&] { return pieces.below(60); });
  RC_ASSERT(!read.failure);
  RC_ASSERT(read.messages == stream.expected());
}

}  // namespace
}  // namespace holdfast::wire
