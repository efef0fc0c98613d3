#include "engines/etcd/pending_leaves.hpp"

#include <gtest/gtest.h>

namespace holdfast::engines::etcd {
namespace {

TEST(etcd_pending_leaves, whoever_comes_after_waits_for_all_of_the_name_and_for_no_other) {
  const lock_name a("a");
  const lock_name b("b");
  pending_leaves leaves;
  leaves.began(a);
  leaves.began(a);
  int told = 0;
  leaves.after(a, [&told] { ++told; });
  leaves.ended(a);
  EXPECT_TRUE(leaves.has(a));
  EXPECT_EQ(told, 0);
  EXPECT_FALSE(leaves.has(b));
  leaves.after(b, [&told] { told += 10; });
  EXPECT_EQ(told, 10) << "at once";
  leaves.ended(a);
  EXPECT_EQ(told, 11);
  EXPECT_FALSE(leaves.has(a));
}

TEST(etcd_pending_leaves, who_is_told_that_all_have_left_may_leave_itself) {
  const lock_name a("a");
  pending_leaves leaves;
  leaves.began(a);
  int told = 0;
  leaves.after(a, [&] {
    leaves.began(a);
    leaves.after(a, [&told] { ++told; });
  });
  leaves.ended(a);
  EXPECT_EQ(told, 0);
  leaves.ended(a);
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace holdfast::engines::etcd
