#include "wire/resp_stream_fixture.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

/// Streams of a server that is broken or hostile, and replies at and beyond each bound.

namespace holdfast::wire {
namespace {

std::string times(std::size_t count, std::string_view text) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

struct hostile {
  std::string bytes;
  std::uint64_t at;
  const char* why;
};

/// Fails at that byte with that reason, however the bytes come, after the good messages before it.
void expect_refused(const hostile& c, const resp_limits& limits = {}) {
  const std::string good = ":1\r\n+OK\r\n";
  for (const std::size_t piece : {SIZE_MAX, std::size_t{1}, std::size_t{3}}) {
    const auto read = read_all(good + c.bytes, piece, limits);
    ASSERT_TRUE(read.failure) << c.bytes;
    EXPECT_EQ(read.messages.size(), 2u) << c.bytes;
    EXPECT_EQ(read.failure->at, good.size() + c.at) << c.bytes << ": " << read.failure->message;
    EXPECT_NE(read.failure->message.find(c.why), std::string::npos) << read.failure->message;
    const std::string place = "byte " + std::to_string(read.failure->at) + " ";
    EXPECT_EQ(read.failure->message.find(place), 0u) << read.failure->message;
  }
}

TEST(resp_bounds, bytes_that_are_no_reply_are_refused) {
  const hostile cases[] = {
      {"HTTP/1.1 400 Bad Request\r\n", 0, "'H' (0x48) begins no reply"},
      {"\x16\x03\x01", 0, "0x16 begins no reply"},
      {std::string(1, '\0'), 0, "0x00 begins no reply"},
      {"\xff\xfe", 0, "0xff begins no reply"},
      {"\r\n", 0, "0x0d begins no reply"},
      {"*2\r\n:1\r\nx", 8, "'x' (0x78) begins no reply"},
  };
  for (const auto& c : cases) expect_refused(c);
}

TEST(resp_bounds, lines_without_their_end_are_refused) {
  const hostile cases[] = {
      {"+OK\n", 3, "without its CR"},
      {"+OK\r+", 4, "without its LF"},
      {"+O\nK\r\n", 2, "without its CR"},
      {":1\r\r\n", 3, "without its LF"},
      {":1\n", 2, "without its CR"},
      {"$3\r\nabcd\r\n", 7, "behind the announced 3 bytes"},
      {"$3\r\nabc\rx", 8, "behind the announced 3 bytes"},
      {"$3\r\nabc\n\n", 7, "behind the announced 3 bytes"},
      {"$0\r\n:1\r\n", 4, "behind the announced 0 bytes"},
      {":" + times(40, "1"), 33, "no line end within 32 bytes"},
      {"$" + times(40, "1"), 33, "no line end within 32 bytes"},
      {"_" + times(40, " ") + "\r\n", 33, "no line end within 32 bytes"},
  };
  for (const auto& c : cases) expect_refused(c);
}

TEST(resp_bounds, lengths_that_cannot_be_are_refused) {
  for (const char type : {'$', '*', '!', '=', '%', '~', '>', '|'}) {
    for (const char* length : {"-2", "-9223372036854775808", "99999999999999999999", "", "x", "1x",
                               "+1", "-", " 1", "1 ", "0x10", "1.0", "--1"}) {
      expect_refused({type + std::string(length) + "\r\n", 1, "the length of"});
    }
    expect_refused({type + std::string("9223372036854775807\r\n"), 0, "are allowed"});
    expect_refused({type + std::string("18446744073709551615\r\n"), 1, "outside of 64 bits"});
    expect_refused({type + std::string("?\r\n"), 0, "streamed: not supported"});
    if (type != '$' && type != '*') {
      expect_refused({type + std::string("-1\r\n"), 1, "negative"});
    }
  }
  expect_refused({";4\r\n", 0, "streamed type, ';' (0x3b): not supported"});
  expect_refused({".\r\n", 0, "streamed type, '.' (0x2e): not supported"});
}

TEST(resp_bounds, values_of_the_wrong_form_are_refused) {
  for (const char* value : {"", "x", "1x", "+-1", "++1", "-", "+", " 1", "1.5",
                            "9223372036854775808", "-9223372036854775809"}) {
    expect_refused({":" + std::string(value) + "\r\n", 1, "an integer is"});
  }
  for (const char* value : {"", "x", "1,5", "--1", "+-1", ".5", "infinity", "nan(1)", "NAN",
                            "1e999", "0x10", "1.5x", "-"}) {
    expect_refused({"," + std::string(value) + "\r\n", 1, "a double is"});
  }
  for (const char* value : {"", "-", "+", "1x", "1.5", "--1"}) {
    expect_refused({"(" + std::string(value) + "\r\n", 1, "a big number is"});
  }
  for (const char* value : {"", "T", "true", "1"}) {
    expect_refused({"#" + std::string(value) + "\r\n", 1, "a boolean that"});
  }
  expect_refused({"_1\r\n", 1, "a null with something"});
  expect_refused({"=3\r\ntxt\r\n", 0, "without its format"});
  expect_refused({"=5\r\ntxtx:\r\n", 9, "without its format"});
}

TEST(resp_bounds, a_push_inside_of_a_reply_is_refused) {
  expect_refused({"*2\r\n:1\r\n>1\r\n+x\r\n", 8, "a push inside"});
  expect_refused({"|1\r\n+a\r\n>0\r\n", 8, "a push inside"});
}

TEST(resp_bounds, a_depth_of_10000_is_refused_at_the_first_level_too_many) {
  expect_refused({times(10'000, "*1\r\n"), 16 * 4, "at level 17, 16 are allowed"});
  expect_refused({times(10'000, "%1\r\n"), 16 * 4, "at level 17, 16 are allowed"});
  expect_refused({times(10'000, "|1\r\n"), 16 * 4, "at level 17, 16 are allowed"});
  EXPECT_FALSE(read_all(times(16, "*1\r\n") + ":1\r\n").failure);
}

TEST(resp_bounds, the_last_size_allowed_is_read_and_the_next_one_refused) {
  const resp_limits small{.line_bytes = 40,
                          .bulk_bytes = 5,
                          .dropped_bytes = 6,
                          .elements = 4,
                          .depth = 2,
                          .message_bytes = 100,
                          .unread_bytes = 200};
  for (const std::string& bytes : {"+" + times(40, "x") + "\r\n", std::string("$5\r\nabcde\r\n"),
                                   "*4\r\n" + times(4, ":1\r\n"), "%2\r\n" + times(4, ":1\r\n"),
                                   std::string("*1\r\n*1\r\n:1\r\n")}) {
    const auto read = read_all(bytes, 1, small);
    EXPECT_FALSE(read.failure) << read.failure->message;
    ASSERT_EQ(read.messages.size(), 1u);
    EXPECT_FALSE(read.messages[0].is(reply_kind::too_long)) << bytes;
  }
  expect_refused({"+" + times(41, "x") + "\r\n", 41, "within 40 bytes"}, small);
  expect_refused({"$7\r\n", 0, "a bulk string of 7 bytes, 6 are allowed"}, small);
  expect_refused({"!6\r\n", 0, "a blob error of 6 bytes, 5 are allowed"}, small);
  expect_refused({"*5\r\n", 0, "an array of 5 elements, 4 are allowed"}, small);
  expect_refused({"%3\r\n", 0, "a map of 3 pairs, 2 are allowed"}, small);
  expect_refused({"*1\r\n*1\r\n*0\r\n", 8, "at level 3, 2 are allowed"}, small);
}

TEST(resp_bounds, the_bytes_of_a_message_are_counted_over_all_its_parts) {
  const resp_limits small{.elements = 1000, .message_bytes = 100};
  // 4 + 12 * 8 = 100 bytes, and one more.
  const std::string full = "*8\r\n" + times(8, "$6\r\nabcdef\r\n");
  const auto read = read_all(full, 1, small);
  ASSERT_EQ(read.messages.size(), 1u);
  EXPECT_EQ(read.messages[0].elements[7].text, "abcdef");
  expect_refused({"*8\r\n" + times(7, "$6\r\nabcdef\r\n") + "!7\r\n", 88, "has at least 101 bytes"},
                 small);
  expect_refused({times(33, "|0\r\n"), 100, "has at least 104 bytes, 100 are allowed"}, small);
  expect_refused({"*33\r\n", 0, "has at least 104 bytes"}, small);
  expect_refused({"*8\r\n" + times(7, "+abcdefghi\r\n") + "+abcdefghij\r\n", 88, "at least 101"},
                 small);
  expect_refused({"+abc\r\n", 0, "has at least 6 bytes, 5 are allowed"}, {.message_bytes = 5});
  // The next message is counted anew.
  EXPECT_EQ(read_all(full + full, 7, small).messages.size(), 2u);
}

TEST(resp_bounds, a_string_that_is_too_long_is_read_and_not_kept) {
  const resp_limits small{.bulk_bytes = 5, .message_bytes = 40};
  for (const std::size_t piece : {SIZE_MAX, std::size_t{1}, std::size_t{3}}) {
    const auto read = read_all("*3\r\n$3\r\nabc\r\n$100\r\n" + times(50, "\r\n") +
                                   "\r\n$3\r\nabc\r\n=9\r\ntxt:abcde\r\n:1\r\n",
                               piece, small);
    ASSERT_FALSE(read.failure) << read.failure->message;
    ASSERT_EQ(read.messages.size(), 3u);
    const reply& all = read.messages[0];
    EXPECT_EQ(all.elements[0].text, "abc");
    EXPECT_EQ(all.elements[1], (reply{.kind = reply_kind::too_long, .integer = 100}));
    EXPECT_EQ(all.elements[2].text, "abc");
    EXPECT_EQ(read.messages[1], (reply{.kind = reply_kind::too_long, .integer = 9}));
    EXPECT_EQ(read.messages[2].integer, 1);
  }
  expect_refused({"$100\r\n" + times(50, "\r\n") + "x", 106, "behind the announced 100 bytes"},
                 small);
}

TEST(resp_bounds, what_does_not_fit_into_a_message_is_not_kept_either) {
  const resp_limits small{.elements = 1000, .message_bytes = 100};
  const std::string last = "*8\r\n" + times(7, "$6\r\nabcdef\r\n") + "$7\r\nabcdefg\r\n";
  const auto read = read_all(last + ":1\r\n", 1, small);
  ASSERT_FALSE(read.failure) << read.failure->message;
  ASSERT_EQ(read.messages.size(), 2u);
  EXPECT_EQ(read.messages[0].elements[7], (reply{.kind = reply_kind::too_long, .integer = 7}));
  // Each costs the bytes of its head all the same.
  expect_refused(
      {"*17\r\n" + times(17, "$99\r\n" + times(99, "x") + "\r\n"), 1383, "has at least 101 bytes"},
      small);
}

TEST(resp_bounds, more_unread_input_than_allowed_is_refused) {
  const resp_limits small{.line_bytes = 40, .unread_bytes = 50};
  resp_reader reader(small);
  reader.feed(times(12, ":1\r\n"));
  EXPECT_EQ(reader.space(100).size(), 2u);
  while (reader.next() != nullptr) {
  }
  EXPECT_EQ(reader.space(100).size(), 50u);
  reader.feed(times(12, ":1\r\n"));
  EXPECT_EQ(reader.failure(), nullptr);
  reader.feed(":1\r\n");
  ASSERT_NE(reader.failure(), nullptr);
  EXPECT_EQ(reader.failure()->at, 96u);
  EXPECT_NE(reader.failure()->message.find("beside 48 unread bytes 4 more, 50 are"),
            std::string::npos);
  resp_reader full(small);
  full.feed(times(12, ":1\r\n") + ":1");
  EXPECT_EQ(full.failure(), nullptr);
}

TEST(resp_bounds, a_failure_is_for_good) {
  resp_reader reader;
  reader.feed(":1\r\n?");
  ASSERT_NE(reader.next(), nullptr);
  EXPECT_EQ(reader.next(), nullptr);
  ASSERT_NE(reader.failure(), nullptr);
  const std::string message = reader.failure()->message;
  reader.feed("\r\n:2\r\n");
  EXPECT_EQ(reader.next(), nullptr);
  EXPECT_EQ(reader.failure()->message, message);
  EXPECT_TRUE(reader.space(10).empty());
}

TEST(resp_bounds, a_message_never_repeats_the_text_of_the_server) {
  for (const char* bytes : {"$6\r\nsecret?", ":secret\r\n", "*secret\r\n", "+secret\n"}) {
    const auto read = read_all(bytes);
    ASSERT_TRUE(read.failure);
    EXPECT_EQ(read.failure->message.find("secret"), std::string::npos) << read.failure->message;
  }
}

RC_GTEST_PROP(resp_bounds, garbage_is_read_or_refused_the_same_in_any_pieces, ()) {
  const auto input = *rc::gen::resize(1000, rc::gen::arbitrary<std::vector<std::uint8_t>>());
  choices from(input);
  stream_maker stream(from, dialect::resp3);
  while (!from.empty()) stream.message();
  std::string bytes = stream.bytes();
  RC_PRE(!bytes.empty());
  // A valid stream with some bytes changed, so that the damage is behind the first one.
  for (int i = 0; i < 3; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
    bytes[at] = *rc::gen::element('\r', '\n', '-', '?', '9', '*', '|', '$', '\0');
  }
  const auto whole = read_all(bytes);
  choices pieces(input);
  resp_reader reader;
  const auto read = read_in_pieces(reader, bytes, [&] { return pieces.below(60); });
  RC_ASSERT(read.messages == whole.messages);
  RC_ASSERT(read.failure.has_value() == whole.failure.has_value());
  if (read.failure) RC_ASSERT(read.failure->message == whole.failure->message);
}

}  // namespace
}  // namespace holdfast::wire
