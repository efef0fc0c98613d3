#include "core/redlock/per_node.hpp"

#include <gtest/gtest.h>

namespace holdfast::core::redlock {

TEST(per_node, keeps_one_value_for_each_of_the_most_nodes) {
  per_node<std::uint64_t> all;
  const per_node<std::uint64_t>& seen = all;
  for (node_index i = 0; i < nodes_max; ++i) EXPECT_EQ(seen[i], 0U) << i;
  for (node_index i = nodes_max; i-- > 0;) all[i] = i + 100;
  for (node_index i = 0; i < nodes_max; ++i) EXPECT_EQ(seen[i], i + 100) << i;
}

TEST(per_node, a_copy_is_another) {
  per_node<int> one;
  one[1] = 1;
  one[30] = 30;
  per_node<int> other = one;
  other[1] = 2;
  other[30] = 60;
  EXPECT_EQ(one[1], 1);
  EXPECT_EQ(one[30], 30);
  EXPECT_EQ(other[30], 60);
}

}  // namespace holdfast::core::redlock
