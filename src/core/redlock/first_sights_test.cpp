#include "core/redlock/first_sights.hpp"
#include "core/start_test.hpp"

#include "gtest/gtest.h"

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;

TEST(first_sights, the_first_time_counts) {
  first_sights s;
  EXPECT_EQ(s.note("n1", t0), t0);
  EXPECT_EQ(s.note("n1", t0 + 5s), t0);
  EXPECT_EQ(s.note("n2", t0 + 5s), t0 + 5s);
}

TEST(first_sights, an_earlier_process_may_have_seen_it_before) {
  first_sights s;
  s.recall("n1", t0 - 9s);
  EXPECT_EQ(s.note("n1", t0), t0 - 9s);
  s.recall("n1", t0 - 20s);
  s.recall("n1", t0 - 1s);
  EXPECT_EQ(s.note("n1", t0), t0 - 20s);
}

TEST(first_sights, forgets_what_is_over) {
  first_sights s;
  s.note("n1", t0);
  s.note("n2", t0 + 5s);
  s.note("n3", t0 + 9s);
  s.forget_before(t0 + 5s);
  s.forget("n3");
  ASSERT_EQ(s.all().size(), 1U);
  EXPECT_TRUE(s.all().contains("n2"));
  EXPECT_EQ(s.note("n1", t0 + 20s), t0 + 20s) << "a longer wait, never a shorter one";
}

}  // namespace
}  // namespace holdfast::core::redlock
