#include "wire/grpc_frame.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::wire {
namespace {

TEST(grpc_frame, messages_come_out_as_they_went_in_however_they_are_cut) {
  std::string bytes;
  put_grpc_message(bytes, "one");
  put_grpc_message(bytes, "");
  put_grpc_message(bytes, std::string(300, 'x'));
  for (const std::size_t piece : {1U, 2U, 5U, 7U, 1000U}) {
    grpc_reader r(1000);
    std::vector<std::string> got;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      r.feed(std::string_view(bytes).substr(at, piece));
      while (const auto m = r.next()) got.emplace_back(*m);
    }
    EXPECT_EQ(got, (std::vector<std::string>{"one", "", std::string(300, 'x')})) << piece;
    EXPECT_TRUE(r.empty());
  }
}

TEST(grpc_frame, a_message_that_is_too_long_is_refused_before_it_is_there) {
  grpc_reader r(100);
  r.feed(std::string("\0\0\0\0\x65", 5));
  EXPECT_FALSE(r.next());
  EXPECT_NE(r.failure(), nullptr);
  r.feed(std::string(1000, 'x'));
  EXPECT_FALSE(r.next());
}

TEST(grpc_frame, a_compressed_message_is_refused) {
  grpc_reader r(100);
  r.feed(std::string("\1\0\0\0\0", 5));
  EXPECT_FALSE(r.next());
  EXPECT_NE(r.failure(), nullptr);
}

TEST(grpc_frame, texts_are_decoded_and_made_harmless) {
  EXPECT_EQ(grpc_text("plain"), "plain");
  EXPECT_EQ(grpc_text("a%20b%2F%zz%4"), "a b/%zz%4");
  EXPECT_EQ(grpc_text("a%0Ab%1b[31m"), "a?b?[31m");
  EXPECT_EQ(grpc_text(std::string(1000, 'x')).size(), 512U);
}

TEST(grpc_frame, a_status_is_a_number) {
  EXPECT_EQ(grpc_status("0"), 0U);
  EXPECT_EQ(grpc_status("14"), 14U);
  for (const char* bad : {"", "x", "1x", "-1", "1001", "99999999999999999999"}) {
    EXPECT_FALSE(grpc_status(bad)) << bad;
  }
}

}  // namespace
}  // namespace holdfast::wire
