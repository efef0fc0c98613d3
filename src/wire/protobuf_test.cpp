#include "wire/protobuf.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace holdfast::wire {
namespace {

using field = proto_reader::field;

TEST(protobuf, what_is_written_is_read_again) {
  std::string bytes;
  proto_writer w(bytes);
  w.number(1, 300);
  w.text(2, "text");
  w.signed_number(3, -1);
  w.number(536'870'911, std::numeric_limits<std::uint64_t>::max());
  proto_reader r(bytes);
  field f;
  ASSERT_TRUE(r.next(f));
  EXPECT_TRUE(f.is_number(1));
  EXPECT_EQ(f.number, 300U);
  ASSERT_TRUE(r.next(f));
  EXPECT_TRUE(f.is_bytes(2));
  EXPECT_EQ(f.bytes, "text");
  ASSERT_TRUE(r.next(f));
  EXPECT_EQ(f.as_signed(), -1);
  ASSERT_TRUE(r.next(f));
  EXPECT_TRUE(f.is_number(536'870'911));
  EXPECT_EQ(f.number, std::numeric_limits<std::uint64_t>::max());
  EXPECT_FALSE(r.next(f));
  EXPECT_TRUE(r.good());
}

// The example of the documentation: field 1 with the number 150.
TEST(protobuf, the_bytes_are_those_of_the_documentation) {
  std::string bytes;
  proto_writer(bytes).number(1, 150);
  EXPECT_EQ(bytes, "\x08\x96\x01");
  bytes.clear();
  proto_writer(bytes).text(2, "testing");
  EXPECT_EQ(bytes, "\x12\x07testing");
}

TEST(protobuf, defaults_are_left_out_unless_they_are_chosen) {
  std::string bytes;
  proto_writer w(bytes);
  w.number(1, 0);
  w.text(2, "");
  EXPECT_TRUE(bytes.empty());
  w.chosen_number(3, 0);
  w.message(4, "");
  EXPECT_EQ(bytes.size(), 4U);
}

TEST(protobuf, fixed_width_fields_are_skipped) {
  const std::string bytes = std::string("\x09") + "12345678" + "\x15" + "1234" + "\x18\x07";
  proto_reader r(bytes);
  field f;
  ASSERT_TRUE(r.next(f));
  EXPECT_TRUE(f.is_number(3));
  EXPECT_EQ(f.number, 7U);
}

TEST(protobuf, every_beginning_of_a_message_is_read_or_refused_within_its_bounds) {
  std::string whole;
  proto_writer w(whole);
  w.number(1, 1'000'000);
  w.text(2, "some bytes");
  w.number(3, 5);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    proto_reader r(cut);
    field f;
    int fields = 0;
    while (r.next(f)) ++fields;
    EXPECT_LE(fields, 3);
    EXPECT_EQ(r.good(), size == 0 || size == 4 || size == 16 || size == 18) << size;
  }
}

TEST(protobuf, what_cannot_be_read_is_refused) {
  for (const std::string& bad :
       {std::string("\x0b"), std::string("\x0c"), std::string("\x0e"), std::string("\x0f"),
        std::string("\0\x01", 2), std::string("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        std::string(11, '\xff'), std::string("\x0a\x02z")}) {
    proto_reader r(bad);
    field f;
    EXPECT_FALSE(r.next(f));
    EXPECT_FALSE(r.good());
    EXPECT_FALSE(r.next(f)) << "it stays refused";
  }
}

}  // namespace
}  // namespace holdfast::wire
