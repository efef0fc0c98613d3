#include "engines/redlock/other_list.hpp"

#include <gtest/gtest.h>

namespace holdfast::engines::redlock {
namespace {

std::vector<io::node_address> list(std::initializer_list<const char*> texts) {
  std::vector<io::node_address> nodes;
  for (const char* text : texts) nodes.push_back(io::node_address::parse(text, 6379).value());
  return nodes;
}

TEST(other_list, is_the_same_in_any_order_and_in_no_other_spelling) {
  EXPECT_EQ(hash_of_list(list({"a", "b"}), 0), hash_of_list(list({"b", "a:6379"}), 0));
  EXPECT_NE(hash_of_list(list({"a", "b"}), 0), hash_of_list(list({"a", "b"}), 1));
  EXPECT_NE(hash_of_list(list({"a", "b"}), 0), hash_of_list(list({"a", "B"}), 0));
}

TEST(other_list, what_people_mostly_change_is_told) {
  const auto ours = list({"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"});
  const auto difference = [&](const std::vector<io::node_address>& theirs) {
    return difference_of_list(hash_of_list(theirs, 2), ours, 2);
  };
  EXPECT_EQ(difference(list({"127.0.0.1:3", "127.0.0.1:1"})), "which lacks 127.0.0.1:2");
  EXPECT_EQ(difference(list({"127.0.0.1:2"})), "which lacks 127.0.0.1:1 and 127.0.0.1:3");
  EXPECT_EQ(difference(list({"localhost:1", "localhost:2", "localhost:3"})),
            "which says localhost where this one says 127.0.0.1");
}

TEST(other_list, what_cannot_be_guessed_is_not_told) {
  const auto ours = list({"a", "b", "c"});
  EXPECT_EQ(difference_of_list(hash_of_list(list({"a", "b", "d"}), 0), ours, 0), "");
  EXPECT_EQ(difference_of_list("", ours, 0), "");
  EXPECT_EQ(difference_of_list(hash_of_list({}, 0), list({"a"}), 0), "");
}

}  // namespace
}  // namespace holdfast::engines::redlock
