#include "engines/zookeeper/inspection.hpp"

#include <gtest/gtest.h>

namespace holdfast::engines::zookeeper {
namespace {

TEST(zookeeper_inspection, a_value_is_found_by_its_line) {
  const std::string text = "Zookeeper version: 3.8.0-x, built on y\nMode: leader\ntickTime=2000\nx";
  EXPECT_EQ(value_in(text, "Mode: "), "leader");
  EXPECT_EQ(value_in(text, "tickTime="), "2000");
  EXPECT_EQ(value_in(text, "ode: "), "");
  EXPECT_EQ(value_in("", "Mode: "), "");
}

TEST(zookeeper_inspection, versions_are_compared_by_their_numbers) {
  EXPECT_TRUE(is_before("3.4.14", "3.5.3"));
  EXPECT_TRUE(is_before("3.5.2", "3.5.3"));
  EXPECT_FALSE(is_before("3.5.3", "3.5.3"));
  EXPECT_FALSE(is_before("3.10.0", "3.5.3"));
  EXPECT_FALSE(is_before("4.0.0", "3.5.3"));
  EXPECT_FALSE(is_before("", "3.5.3"));
  EXPECT_FALSE(is_before("unknown", "3.5.3"));
}

}  // namespace
}  // namespace holdfast::engines::zookeeper
