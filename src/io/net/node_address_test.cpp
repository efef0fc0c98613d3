#include "io/net/node_address.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace holdfast::io {
namespace {

TEST(node_address, is_read_in_each_form_and_written_back) {
  const std::string longest_path = "unix:/" + std::string(106, 'x');
  for (const std::string& text :
       {std::string("host:7000"), std::string("10.0.0.1:1"), std::string("[::1]:65535"),
        std::string("unix:/run/redis.sock"), longest_path}) {
    const auto read = node_address::parse(text, 6379);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->text(), text);
  }
  EXPECT_EQ(node_address::parse("host", 6379)->text(), "host:6379");
  EXPECT_EQ(node_address::parse("[::1]", 6379)->text(), "[::1]:6379");
}

TEST(node_address, names_many_in_an_order_of_its_own) {
  const node_address one{.host = "b", .port = 2, .path = {}};
  const node_address other{.host = "a", .port = 3, .path = {}};
  EXPECT_EQ(text_of({one, other}), "a:3,b:2");
  EXPECT_EQ(text_of({other, one}), "a:3,b:2");
  EXPECT_EQ(text_of({one}), "b:2");
}

TEST(node_address, refuses_what_is_none_and_says_why) {
  const std::string long_path = "unix:/" + std::string(200, 'x');
  for (const auto& [text, why] :
       std::vector<std::pair<std::string, std::string>>{{"", "host is missing"},
                                                        {":6379", "host is missing"},
                                                        {"host:0", "1 to 65535"},
                                                        {"host:65536", "1 to 65535"},
                                                        {"host:6x", "1 to 65535"},
                                                        {"host:", "1 to 65535"},
                                                        {"::1", "brackets"},
                                                        {"[::1", "not closed"},
                                                        {"[::1]6379", "colon"},
                                                        {"unix:relative", "not absolute"},
                                                        {"unix:", "not absolute"},
                                                        {long_path, "at most 107 bytes"}}) {
    const auto read = node_address::parse(text, 6379);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error(), errc::invalid_argument);
    EXPECT_NE(read.error().message().find(why), std::string::npos) << read.error().message();
  }
}

}  // namespace
}  // namespace holdfast::io
