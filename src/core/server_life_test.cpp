#include "core/server_life.hpp"

#include <gtest/gtest.h>

namespace holdfast::core {
namespace {

TEST(server_life, ends_with_the_process_and_with_each_promotion) {
  const auto plain = server_life("run-1", "");
  const auto promoted = server_life("run-1", "data-1");
  EXPECT_EQ(plain, "run-1");
  EXPECT_TRUE(is_same_life(plain, plain));
  EXPECT_TRUE(is_same_life(promoted, promoted));
  EXPECT_FALSE(is_same_life(plain, server_life("run-2", "")));
  EXPECT_FALSE(is_same_life(plain, promoted)) << "it has another server's data now";
  EXPECT_FALSE(is_same_life(promoted, server_life("run-1", "data-2")));
  EXPECT_FALSE(is_same_life(promoted, server_life("run-2", "data-1")));
}

TEST(server_life, goes_on_where_a_promotion_is_forgotten) {
  EXPECT_TRUE(is_same_life(server_life("run-1", "data-1"), "run-1"));
  EXPECT_FALSE(is_same_life(server_life("run-1", "data-1"), "run-2"));
}

TEST(server_life, is_of_a_process) {
  EXPECT_EQ(process_of(server_life("run-1", "data-1")), "run-1");
  EXPECT_EQ(process_of("run-1"), "run-1");
}

}  // namespace
}  // namespace holdfast::core
