#include "core/redlock/life_notes.hpp"
#include "core/start_fixture.hpp"

#include "gtest/gtest.h"

#include <string>

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;

TEST(life_notes, the_first_time_counts) {
  life_notes s;
  EXPECT_EQ(s.note("n1", t0), t0);
  EXPECT_EQ(s.note("n1", t0 + 5s), t0);
  EXPECT_EQ(s.note("n2", t0 + 5s), t0 + 5s);
}

TEST(life_notes, an_earlier_process_may_have_seen_it_before) {
  life_notes s;
  s.recall("n1", t0 - 9s);
  EXPECT_EQ(s.note("n1", t0), t0 - 9s);
  s.recall("n1", t0 - 20s);
  s.recall("n1", t0 - 1s);
  EXPECT_EQ(s.note("n1", t0), t0 - 20s);
}

TEST(life_notes, forgets_what_is_over) {
  life_notes s;
  s.note("n1", t0);
  s.note("n2", t0 + 5s);
  s.note("n3", t0 + 9s);
  s.forget_before(t0 + 5s);
  s.forget("n3");
  ASSERT_EQ(s.all().size(), 1U);
  EXPECT_TRUE(s.all().contains("n2"));
  EXPECT_EQ(s.note("n1", t0 + 20s), t0 + 20s) << "a longer wait, never a shorter one";
}

TEST(life_notes, a_process_is_as_old_as_the_one_it_follows_only_if_both_sync_every_write) {
  life_notes s;
  EXPECT_EQ(s.note_process("a", "r1", true, t0), t0);
  EXPECT_EQ(s.note_process("a", "r2", true, t0 + 9s), t0);
  EXPECT_EQ(s.note_process("b", "r3", true, t0 + 9s), t0 + 9s) << "another node";
  EXPECT_EQ(s.note_process("a", "r2", false, t0 + 10s), t0) << "the same process";
  EXPECT_EQ(s.note_process("a", "r4", true, t0 + 11s), t0 + 11s);
  EXPECT_EQ(s.note_process("a", "r5", false, t0 + 12s), t0 + 12s);
}

TEST(life_notes, of_a_node_that_restarts_again_and_again_one_process_is_noted) {
  life_notes s;
  for (int i = 0; i < 300; ++i) s.note_process("host", "run" + std::to_string(i), false, t0);
  EXPECT_EQ(s.all().size(), 2U) << "its name, and when it was seen first";
}

TEST(life_notes, the_notes_of_processes_are_kept_like_the_others) {
  life_notes s;
  s.note_process("a=b:1", "r1", true, t0);
  life_notes later;
  for (const auto& [word, since] : s.all()) later.recall(word, since);
  EXPECT_EQ(later.note_process("a", "r2", true, t0 + 9s), t0 + 9s) << "no note of this node";
  EXPECT_EQ(later.note_process("a=b:1", "r3", true, t0 + 19s), t0);
}

TEST(life_notes, what_a_process_saw_of_lives_is_when_they_were_there_themselves) {
  life_notes s;
  s.note("nonce", t0);
  s.note_process("a", "r1", true, t0 + 1s);
  s.note_process("b", "r2", true, t0 + 2s);
  ASSERT_EQ(s.note_process("b", "r3", true, t0 + 9s), t0 + 2s) << "as old as the one it follows";
  s.note_process("b", "r3", true, t0 + 11s);
  life_notes seen;
  seen.recall("nonce", t0);
  seen.recall("r1", t0 + 1s);
  seen.recall("r3", t0 + 9s);
  EXPECT_EQ(s.sights(), seen) << "and no node was anything";

  life_notes later;
  later.recall(seen);
  later.recall(s.sights());
  EXPECT_EQ(later, seen);
  EXPECT_EQ(later.note_process("b", "r3", true, t0 + 20s), t0 + 9s);
  EXPECT_EQ(later.note_process("b", "r4", false, t0 + 21s), t0 + 21s);
}

life_notes merged(life_notes a, const life_notes& b) {
  life_notes other = b;
  other.merge(a);
  a.merge(b);
  EXPECT_EQ(a, other) << "whoever writes first";
  const life_notes once = a;
  a.merge(b);
  EXPECT_EQ(a, once) << "again";
  return a;
}

std::string is_at(const life_notes& s, const std::string& node) {
  const auto p = s.process_at(node);
  if (!p) return "unknown";
  return p->run_id + (p->durable ? " durable" : "") + (p->follows ? " follows" : "");
}

TEST(life_notes, of_a_life_that_two_saw_the_earlier_sight_counts) {
  life_notes a;
  life_notes b;
  a.note("n1", t0);
  b.note("n1", t0 + 5s);
  b.note("n2", t0 + 6s);
  auto both = merged(a, b);
  EXPECT_EQ(both.note("n1", t0 + 9s), t0);
  EXPECT_EQ(both.note("n2", t0 + 9s), t0 + 6s);
}

TEST(life_notes, of_a_process_that_two_saw_the_earlier_sight_counts) {
  life_notes a;
  life_notes b;
  a.note_process("a", "r1", false, t0);
  b.note_process("a", "r1", false, t0 + 5s);
  auto both = merged(a, b);
  EXPECT_EQ(both.note("r1", t0 + 9s), t0);
  EXPECT_EQ(both.all().size(), 2U);
}

TEST(life_notes, of_two_processes_at_a_node_the_one_that_was_seen_later_is_there) {
  life_notes a;
  life_notes b;
  a.note_process("a", "r1", true, t0);
  b.note_process("a", "r2", false, t0 + 5s);
  auto both = merged(a, b);
  EXPECT_EQ(is_at(both, "a"), "r2");
  EXPECT_EQ(both.all().size(), 2U) << "the one before is forgotten";
  EXPECT_EQ(both.note_process("a", "r3", true, t0 + 9s), t0 + 9s);
}

TEST(life_notes, a_process_follows_none_across_one_that_another_saw_to_sync_less) {
  life_notes a;
  a.note_process("a", "r1", true, t0);
  life_notes b = a;
  b.note_process("a", "r2", false, t0 + 5s);
  a.note_process("a", "r3", true, t0 + 9s);
  ASSERT_EQ(is_at(a, "a"), "r3 durable follows");
  auto both = merged(a, b);
  EXPECT_EQ(is_at(both, "a"), "r3 durable");
  EXPECT_EQ(both.note("r3", t0 + 20s), t0 + 9s);
}

TEST(life_notes, that_all_share_believe_who_looked_since_they_began) {
  life_notes mine;
  mine.note_process("a", "r1", true, t0);
  life_notes shared;
  shared.add(mine, t0 + 5s);
  EXPECT_EQ(is_at(shared, "a"), "r1");
  EXPECT_EQ(shared.all().at("r1"), t0) << "it was there by then";
  life_notes stale;
  stale.note_process("a", "r1", true, t0 + 4s);
  shared.add(stale, t0 + 6s);
  EXPECT_EQ(is_at(shared, "a"), "r1") << "that was before";
  mine.merge(shared);
  mine.note_process("a", "r1", true, t0 + 7s);
  shared.add(mine, t0 + 8s);
  EXPECT_EQ(is_at(shared, "a"), "r1 durable");
  mine.note_process("a", "r2", true, t0 + 9s);
  shared.add(mine, t0 + 10s);
  EXPECT_EQ(is_at(shared, "a"), "r2 durable follows");
}

TEST(life_notes, no_process_follows_another_where_the_shared_ones_have_nothing_of_its_node) {
  life_notes mine;
  mine.note_process("a", "r1", true, t0);
  mine.note_process("a", "r2", true, t0 + 5s);
  life_notes shared;
  shared.add(mine, t0 + 6s);
  EXPECT_EQ(is_at(shared, "a"), "r2");
  EXPECT_EQ(shared.all().at("r2"), t0 + 5s);
  auto kept = mine;
  kept.follow_only(shared);
  EXPECT_EQ(kept, mine);
  mine.follow_only({});
  EXPECT_EQ(is_at(mine, "a"), "r2 durable");
  EXPECT_EQ(mine.all().at("r2"), t0 + 5s);
}

TEST(life_notes, nor_across_a_process_that_turned_to_sync_less) {
  life_notes a;
  a.note_process("a", "r1", true, t0);
  life_notes b = a;
  b.note_process("a", "r1", false, t0 + 5s);
  a.note_process("a", "r3", true, t0 + 9s);
  EXPECT_EQ(merged(a, b).note("r3", t0 + 20s), t0 + 9s);
}

TEST(life_notes, a_process_is_no_older_than_one_in_between_that_another_saw) {
  life_notes a;
  a.note_process("a", "r1", true, t0);
  life_notes b = a;
  b.note_process("a", "r2", false, t0 + 1s);
  b.note_process("a", "r3", true, t0 + 2s);
  a.note_process("a", "r4", true, t0 + 9s);
  auto both = merged(a, b);
  EXPECT_EQ(is_at(both, "a"), "r4 durable follows");
  EXPECT_EQ(both.note("r4", t0 + 20s), t0 + 2s);
}

TEST(life_notes, of_a_process_that_follows_for_one_of_two_the_later_sight_counts) {
  life_notes a;
  a.note_process("a", "r1", true, t0);
  life_notes b = a;
  b.note_process("a", "r2", false, t0 + 1s);
  a.note_process("a", "r3", true, t0 + 9s);
  b.note_process("a", "r3", true, t0 + 10s);
  auto both = merged(a, b);
  EXPECT_EQ(is_at(both, "a"), "r3 durable");
  EXPECT_EQ(both.note("r3", t0 + 20s), t0 + 10s);
  auto agreed = merged(a, a);
  EXPECT_EQ(is_at(agreed, "a"), "r3 durable follows");
  EXPECT_EQ(agreed.note("r3", t0 + 20s), t0) << "nobody missed anything";
}

TEST(life_notes, whether_a_process_syncs_is_what_was_seen_last) {
  life_notes a;
  life_notes b;
  a.note_process("a", "r1", true, t0);
  b.note_process("a", "r1", false, t0 + 5s);
  EXPECT_EQ(is_at(merged(a, b), "a"), "r1");
  a.note_process("a", "r1", false, t0 + 6s);
  a.note_process("a", "r1", true, t0 + 7s);
  EXPECT_EQ(is_at(merged(a, b), "a"), "r1 durable");
  life_notes c;
  c.note_process("a", "r1", false, t0 + 7s);
  EXPECT_EQ(is_at(merged(a, c), "a"), "r1") << "at one moment the worse is believed";
}

TEST(life_notes, names_that_look_like_each_other_are_kept_apart) {
  life_notes a;
  life_notes b;
  a.note_process("a", "r1", true, t0);
  b.note_process("a=b", "r2", true, t0 + 1s);
  auto both = merged(a, b);
  EXPECT_EQ(is_at(both, "a"), "r1 durable");
  EXPECT_EQ(is_at(both, "a=b"), "r2 durable");
}

TEST(life_notes, that_say_too_much_of_a_node_are_told) {
  life_notes old;
  old.note_process("a", "r1", true, t0);
  life_notes now = old;
  EXPECT_FALSE(old.overstate(now));
  EXPECT_TRUE(old.overstate({}));
  now.note_process("a", "r1", false, t0 + 1s);
  EXPECT_TRUE(old.overstate(now));
  EXPECT_FALSE(now.overstate(old));
  now.note_process("a", "r2", true, t0 + 2s);
  EXPECT_TRUE(old.overstate(now));
}

TEST(life_notes, the_oldest_are_forgotten_and_what_nodes_were_last_of_all) {
  life_notes s;
  s.note_process("a", "r1", true, t0);
  for (int i = 1; i <= 9; ++i) s.note("life" + std::to_string(i), t0 + i * 1s);
  s.keep_newest(4);
  EXPECT_EQ(s.all().size(), 4U);
  EXPECT_EQ(is_at(s, "a"), "r1 durable");
  EXPECT_EQ(s.note("r1", t0 + 20s), t0);
  EXPECT_TRUE(s.all().contains("life8") && s.all().contains("life9"));
}

TEST(life_notes, only_the_process_that_was_seen_to_sync_last_is_durable) {
  life_notes s;
  s.note_process("a:1", "r1", true, t0);
  EXPECT_TRUE(s.is_durable("a:1", "r1"));
  EXPECT_FALSE(s.is_durable("a:1", "r2"));
  EXPECT_FALSE(s.is_durable("b:1", "r1"));
  s.note_process("a:1", "r1", false, t0 + 1s);
  EXPECT_FALSE(s.is_durable("a:1", "r1"));
}

/// Who is new to a node is advised to assume that nothing is held there.
TEST(life_notes, that_another_process_was_there_before_is_never_forgotten) {
  life_notes knows;
  knows.note_process("a:1", "r1", false, t0);
  knows.note_process("a:1", "r2", false, t0 + 1s);
  life_notes newer;
  newer.note_process("a:1", "r2", false, t0 + 2s);
  ASSERT_FALSE(newer.process_at("a:1")->replaces);
  newer.merge(knows);
  EXPECT_TRUE(newer.process_at("a:1")->replaces);
  life_notes third;
  third.note_process("a:1", "r3", false, t0 + 3s);
  life_notes first;
  first.note_process("a:1", "r1", false, t0);
  third.merge(first);
  EXPECT_TRUE(third.process_at("a:1")->replaces) << "one of the two was before the other";
}

TEST(life_notes, a_process_that_is_seen_again_follows_whom_it_followed) {
  life_notes s;
  s.note_process("a", "r1", true, t0);
  EXPECT_FALSE(s.process_at("a")->replaces);
  s.note_process("a", "r1", true, t0 + 1s);
  EXPECT_FALSE(s.process_at("a")->replaces) << "it is the same";
  s.note_process("a", "r2", true, t0 + 2s);
  s.note_process("a", "r2", true, t0 + 3s);
  EXPECT_EQ(is_at(s, "a"), "r2 durable follows");
  EXPECT_TRUE(s.process_at("a")->replaces);
}

/// What the other one saw in between is told when it is merged later.
TEST(life_notes, of_one_process_it_is_kept_whether_the_later_sight_is_that_of_another) {
  life_notes a;
  a.note_process("a", "r1", true, t0 + 5s);
  a.note_process("a", "r2", true, t0 + 9s);
  life_notes early;
  early.note_process("a", "r2", true, t0 + 1s);
  for (auto both : {merged(a, early), merged(early, a)}) {
    EXPECT_EQ(is_at(both, "a"), "r2 durable follows");
    EXPECT_EQ(both.note("r2", t0 + 20s), t0 + 5s);
  }
  life_notes same;
  same.note_process("a", "r2", true, t0 + 5s);
  EXPECT_EQ(is_at(merged(a, same), "a"), "r2 durable follows");
  life_notes late;
  late.note_process("a", "r2", true, t0 + 7s);
  for (auto both : {merged(a, late), merged(late, a)}) {
    EXPECT_EQ(is_at(both, "a"), "r2 durable");
    EXPECT_EQ(both.note("r2", t0 + 20s), t0 + 7s);
  }
}

TEST(life_notes, an_older_process_that_was_seen_since_makes_none_older_that_follows) {
  life_notes a;
  a.note_process("a", "r1", true, t0 + 3s);
  a.note_process("a", "r4", true, t0 + 9s);
  life_notes b;
  b.note_process("a", "r0", true, t0 + 1s);
  b.note_process("a", "r2", true, t0 + 4s);
  auto both = merged(a, b);
  EXPECT_EQ(is_at(both, "a"), "r4 durable follows");
  EXPECT_EQ(both.note("r4", t0 + 20s), t0 + 3s);
}

TEST(life_notes, of_one_server_by_two_names_the_later_sight_counts) {
  life_notes a;
  a.note_process("a", "r1", false, t0);
  life_notes b;
  b.note_process("b", "r1", false, t0 + 5s);
  EXPECT_EQ(merged(a, b).note("r1", t0 + 9s), t0 + 5s);
  EXPECT_EQ(merged(b, a).note("r1", t0 + 9s), t0 + 5s);
}

TEST(life_notes, one_that_syncs_no_more_follows_nobody_where_the_shared_ones_have_nothing) {
  life_notes mine;
  mine.note_process("a", "r1", true, t0);
  mine.note_process("a", "r2", true, t0 + 5s);
  mine.note_process("a", "r2", false, t0 + 6s);
  life_notes shared;
  shared.add(mine, t0 + 9s);
  EXPECT_EQ(is_at(shared, "a"), "r2");
  EXPECT_EQ(shared.all().at("r2"), t0 + 6s);
}

}  // namespace
}  // namespace holdfast::core::redlock
