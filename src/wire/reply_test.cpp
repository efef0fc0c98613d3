#include "wire/reply.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace holdfast::wire {
namespace {

reply text(const char* bytes) { return {.kind = reply_kind::text, .text = bytes}; }

TEST(reply, finds_a_value_in_a_map_and_in_the_flat_array_of_resp2) {
  for (const auto kind : {reply_kind::map, reply_kind::array}) {
    const reply hello{.kind = kind, .elements = {text("server"), text("redis"), text("proto"), {}}};
    ASSERT_NE(hello.find("server"), nullptr);
    EXPECT_EQ(hello.find("server")->text, "redis");
    ASSERT_NE(hello.find("proto"), nullptr);
    EXPECT_TRUE(hello.find("proto")->is_null());
  }
}

TEST(reply, finds_no_value_by_a_value_and_none_behind_the_last_key) {
  const reply odd{.kind = reply_kind::array, .elements = {text("a"), text("b"), text("c")}};
  EXPECT_EQ(odd.find("b"), nullptr);
  EXPECT_EQ(odd.find("c"), nullptr);
  EXPECT_EQ(text("a").find("a"), nullptr);
  const reply set{.kind = reply_kind::set, .elements = {text("a"), text("b")}};
  EXPECT_EQ(set.find("a"), nullptr);
}

TEST(reply, is_ok_only_as_a_status) {
  EXPECT_TRUE((reply{.kind = reply_kind::status, .text = "OK"}.is_ok()));
  EXPECT_FALSE((reply{.kind = reply_kind::status, .text = "QUEUED"}.is_ok()));
  EXPECT_FALSE(text("OK").is_ok());
  EXPECT_FALSE((reply{.kind = reply_kind::error, .text = "OK"}.is_ok()));
}

TEST(reply, every_kind_has_a_name_of_its_own) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(reply_kind::push); ++i) {
    const std::string name = name_of(static_cast<reply_kind>(i));
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 0) << name;
    EXPECT_NE(name, "unknown");
    names.push_back(name);
  }
}

}  // namespace
}  // namespace holdfast::wire
