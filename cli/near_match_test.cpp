#include "cli/near_match.hpp"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

TEST(near_match, a_swap_of_neighbours_is_one_step) {
  EXPECT_EQ(edit_distance("rnu", "run"), 1U);
  EXPECT_EQ(edit_distance("watch", "wacth"), 1U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
}

TEST(near_match, finds_what_was_meant_and_nothing_else) {
  const std::vector<std::string> verbs{"run", "ls", "show", "watch", "check", "deny", "doctor"};
  EXPECT_EQ(nearest("rum", verbs), "run");
  EXPECT_EQ(nearest("docter", verbs), "doctor");
  EXPECT_EQ(nearest("elect", verbs), "");
  EXPECT_EQ(hint("shwo", verbs), " (did you mean \"show\"?)");
  EXPECT_EQ(hint("frobnicate", verbs), "");
}

}  // namespace
}  // namespace holdfast::cli
