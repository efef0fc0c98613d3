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

TEST(first_sights, a_process_is_as_old_as_the_one_it_follows_only_if_both_sync_every_write) {
  first_sights s;
  EXPECT_EQ(s.note_process("a", "r1", true, t0), t0);
  EXPECT_EQ(s.note_process("a", "r2", true, t0 + 9s), t0);
  EXPECT_EQ(s.note_process("b", "r3", true, t0 + 9s), t0 + 9s) << "another node";
  EXPECT_EQ(s.note_process("a", "r2", false, t0 + 10s), t0) << "the same process";
  EXPECT_EQ(s.note_process("a", "r4", true, t0 + 11s), t0 + 11s);
  EXPECT_EQ(s.note_process("a", "r5", false, t0 + 12s), t0 + 12s);
}

TEST(first_sights, of_a_node_that_restarts_again_and_again_one_process_is_noted) {
  first_sights s;
  for (int i = 0; i < 300; ++i) s.note_process("host", "run" + std::to_string(i), false, t0);
  EXPECT_EQ(s.all().size(), 2U) << "its name, and when it was seen first";
}

TEST(first_sights, the_notes_of_processes_are_kept_like_the_others) {
  first_sights s;
  s.note_process("a=b:1", "r1", true, t0);
  first_sights later;
  for (const auto& [word, since] : s.all()) later.recall(word, since);
  EXPECT_EQ(later.note_process("a", "r2", true, t0 + 9s), t0 + 9s) << "no note of this node";
  EXPECT_EQ(later.note_process("a=b:1", "r3", true, t0 + 19s), t0);
}

}  // namespace
}  // namespace holdfast::core::redlock
