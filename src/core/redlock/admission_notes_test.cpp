#include "core/redlock/admission_fixture.hpp"

#include "gtest/gtest.h"

/// With tokens off: what waits for this user's notes, and what does not.

namespace holdfast::core::redlock {
namespace {

/// Nothing is kept before keep() is called.
store without_records() {
  store s(3, false);
  for (auto& f : s.facts) f.record.reset();
  s.keeps = false;
  return s;
}

/// All nodes were seen to sync every write, and vote.
store of_durable_nodes() {
  store s = without_records();
  for (auto& f : s.facts) f.durable = true;
  s.connect_all(t0);
  s.keep(t0);
  s.keep(t0 + 1ms);
  s.tick(t0 + wait);
  EXPECT_EQ(s.a.voters().size(), 3U);
  EXPECT_TRUE(s.file.is_durable("host0", "run0"));
  return s;
}

void restart(store& s, node_index i, bool durable, time_point now) {
  s.facts[i].run_id += "x";
  s.facts[i].durable = durable;
  s.connect(i, now);
}

TEST(admission_notes, no_process_votes_before_it_is_noted) {
  store s = without_records();
  s.connect_all(t0);
  s.tick(t0 + wait);
  EXPECT_TRUE(s.a.voters().empty());
  EXPECT_NE(s.a.explain(0, t0 + wait).find("being written"), std::string::npos);
  EXPECT_EQ(s.wake, time_point::max()) << "nothing but the notes is waited for";
  s.keep(t0 + wait + 1s);
  EXPECT_EQ(s.a.voters().size(), 3U);
}

TEST(admission_notes, what_an_earlier_client_of_this_process_saw_is_no_note_of_the_user) {
  store s = without_records();
  life_notes seen;
  for (const auto& f : s.facts) seen.recall(f.run_id, t0);
  s.a.recall(seen);
  s.connect_all(t0 + wait);
  EXPECT_TRUE(s.a.voters().empty());
  s.keep(t0 + wait);
  EXPECT_EQ(s.a.voters().size(), 3U) << "the wait was over";
}

TEST(admission_notes, one_that_follows_a_durable_one_votes_when_it_is_noted) {
  store s = of_durable_nodes();
  restart(s, 0, true, t0 + 100s);
  EXPECT_FALSE(s.a.voters().has(0));
  EXPECT_EQ(s.a.voters().size(), 2U) << "nobody else waits for that";
  s.keep(t0 + 101s);
  EXPECT_TRUE(s.a.voters().has(0));
}

/// What it grants is lost with it; and who reads the notes then would find the one before it.
TEST(admission_notes, the_next_program_does_not_take_over_what_a_process_that_was_not_noted_lost) {
  store s = of_durable_nodes();
  restart(s, 0, false, t0 + 100s);
  s.tick(t0 + 100s + wait);
  const bool granted = s.a.voters().has(0);
  store next(3, false);
  next.a = admission({.nodes = 3, .tokens = false, .max_ttl = max_ttl, .timeout = 50ms}, s.file);
  next.facts = s.facts;
  next.file = s.file;
  restart(next, 0, true, t0 + 101s + wait);
  EXPECT_FALSE(granted && next.a.voters().has(0));
}

TEST(admission_notes, an_old_note_counts_for_no_other_process) {
  store s = of_durable_nodes();
  const life_notes before = s.a.notes();
  restart(s, 0, false, t0 + 100s);
  s.serve(s.a.kept(before, s.file, t0 + 100s + wait), t0 + 100s + wait);
  EXPECT_FALSE(s.a.voters().has(0)) << "another attempt has ended";
}

TEST(admission_notes, another_client_may_have_seen_what_was_missed_here) {
  store s = of_durable_nodes();
  life_notes theirs = s.file;
  theirs.note_process("host0", "run0y", false, t0 + 90s);
  s.file = theirs;
  restart(s, 0, true, t0 + 100s);
  s.keep(t0 + 101s);
  EXPECT_FALSE(s.a.voters().has(0)) << "one in between synced nothing";
  s.tick(t0 + 100s + wait);
  EXPECT_TRUE(s.a.voters().has(0));
}

TEST(admission_notes, what_another_client_saw_later_is_looked_at) {
  store s = of_durable_nodes();
  s.file.note_process("host1", "other", true, t0 + 90s);
  restart(s, 0, false, t0 + 100s);
  s.keep(t0 + 101s);
  EXPECT_TRUE(s.a.notes().is_durable("host1", "run1")) << "it is there still, or again";
  EXPECT_FALSE(s.a.voters().has(1)) << "and that is not noted yet";
  s.keep(t0 + 102s);
  EXPECT_EQ(s.a.voters(), node_set::only(2) | node_set::only(1));
}

TEST(admission_notes, that_cannot_be_kept_keep_out_only_who_they_say_too_much_of) {
  store s = of_durable_nodes();
  const life_notes old = s.file;
  restart(s, 0, false, t0 + 100s);
  s.facts[1].durable = false;
  s.connect(1, t0 + 100s);
  EXPECT_TRUE(s.a.voters().has(1)) << "so long as that is being written";
  const time_point later = t0 + 100s + wait;
  s.serve(s.a.kept(s.a.notes(), old, later), later);
  EXPECT_EQ(s.a.voters(), node_set::only(2));
  s.serve(s.a.kept(s.a.notes(), {}, later), later);
  EXPECT_EQ(s.a.voters(), node_set::all(3)) << "who has no notes waits";
}

/// What follows it will be waited for all the same.
TEST(admission_notes, that_cannot_be_kept_keep_out_nobody_who_came_behind_one_that_synced_less) {
  for (const bool durable : {false, true}) {
    store s = without_records();
    life_notes old;
    old.note_process("host0", "run0x", durable, t0 - 1s);
    s.connect_all(t0);
    s.serve(s.a.kept(s.a.notes(), old, t0), t0);
    s.tick(t0 + wait);
    EXPECT_EQ(s.a.voters().has(0), !durable);
    EXPECT_TRUE(s.a.voters().has(1)) << "nothing is said of it";
  }
}

/// One that synced less may have been there in between: who saw it voted for it without a note.
TEST(admission_notes, that_cannot_be_kept_let_no_process_follow_another) {
  store s = of_durable_nodes();
  restart(s, 0, true, t0 + 100s);
  s.serve(s.a.kept(s.a.notes(), {}, t0 + 101s), t0 + 101s);
  EXPECT_EQ(s.a.voters(), node_set::only(1) | node_set::only(2));
  s.tick(t0 + 100s + wait);
  EXPECT_TRUE(s.a.voters().has(0)) << "it waited like any other";
}

TEST(admission_notes, that_were_lost_are_not_brought_back_by_who_missed_what_came_since) {
  store s = of_durable_nodes();
  store late = s;
  late.serve(late.a.disconnected(0, t0 + 99s), t0 + 99s);
  restart(s, 0, false, t0 + 100s);
  const time_point later = t0 + 100s + wait;
  s.serve(s.a.kept(s.a.notes(), {}, later), later);
  ASSERT_TRUE(s.a.voters().has(0)) << "it grants, and there is no note of it";
  late.file = {};
  restart(late, 1, true, later);
  late.keep(later);
  EXPECT_TRUE(late.file.process_at("host0")) << "the notes begin anew with what it knows";
  store next = without_records();
  next.a = admission({.nodes = 3, .tokens = false, .max_ttl = max_ttl, .timeout = 50ms}, late.file);
  next.facts = late.facts;
  next.file = late.file;
  restart(next, 0, true, later + 1s);
  next.keep(later + 1s);
  EXPECT_FALSE(next.a.voters().has(0)) << "what was granted there is lost";
  restart(late, 0, true, later + 2s);
  late.keep(later + 2s);
  EXPECT_FALSE(late.a.voters().has(0)) << "nor for who was there all the time";
}

TEST(admission_notes, who_assumed_that_nothing_was_held_does_so_of_the_first_process_of_a_node) {
  store s = without_records();
  s.keeps = true;
  s.a = admission(
      {.nodes = 3, .tokens = false, .assume_fresh = true, .max_ttl = max_ttl, .timeout = 50ms});
  s.connect(0, t0);
  s.connect(1, t0);
  ASSERT_EQ(s.a.voters().size(), 2U);
  restart(s, 0, false, t0 + 100s);
  EXPECT_EQ(s.a.voters(), node_set::only(1)) << "what was granted there may be held";
  EXPECT_NE(s.a.explain(0, t0 + 100s).find("votes again"), std::string::npos);
  s.connect(2, t0 + 100s);
  s.a.disconnected(1, t0 + 100s);
  s.connect(1, t0 + 101s);
  EXPECT_EQ(s.a.voters(), node_set::only(1) | node_set::only(2)) << "these are the first there";
  s.tick(t0 + 100s + wait);
  EXPECT_EQ(s.a.voters().size(), 3U);
}

/// Who was served, or whose user was, may hold what the node granted.
TEST(admission_notes, a_newcomer_alone_is_advised_to_assume_that_nothing_is_held) {
  store s = without_records();
  const auto advised = [](const store& of, node_index i, time_point now) {
    return of.a.explain(i, now).find("assume_fresh") != std::string::npos;
  };
  s.connect(0, t0);
  s.connect(1, t0);
  s.keep(t0);
  EXPECT_TRUE(advised(s, 0, t0));
  s.tick(t0 + wait);
  ASSERT_EQ(s.a.voters().size(), 2U);
  s.connect(2, t0 + 100s);
  EXPECT_FALSE(advised(s, 2, t0 + 100s)) << "it was served by the others";
  restart(s, 0, false, t0 + 100s);
  EXPECT_NE(s.a.explain(0, t0 + 100s).find("votes again"), std::string::npos);
  EXPECT_FALSE(advised(s, 0, t0 + 100s));
  store next = without_records();
  next.a =
      admission({.nodes = 3, .tokens = false, .max_ttl = max_ttl, .timeout = 50ms}, s.a.notes());
  next.facts = s.facts;
  next.connect(0, t0 + 101s);
  next.connect(2, t0 + 101s);
  EXPECT_FALSE(advised(next, 0, t0 + 101s)) << "this user was";
  EXPECT_FALSE(advised(next, 2, t0 + 101s));
}

TEST(admission_notes, a_process_that_is_noted_waits_all_the_same) {
  store s = without_records();
  s.connect_all(t0);
  s.keep(t0);
  s.tick(t0 + wait - 1ns);
  EXPECT_TRUE(s.a.voters().empty());
  s.tick(t0 + wait);
  EXPECT_EQ(s.a.voters().size(), 3U);
}

TEST(admission_notes, a_try_to_note_one_process_is_none_for_another) {
  store s = without_records();
  s.connect_all(t0);
  // The notes cannot be written, and say nothing.
  const life_notes none;
  s.serve(s.a.kept(s.a.notes(), none, t0), t0);
  s.tick(t0 + wait);
  ASSERT_EQ(s.a.voters().size(), 3U);
  restart(s, 0, false, t0 + wait);
  s.tick(t0 + 2 * wait);
  EXPECT_FALSE(s.a.voters().has(0)) << "they may be written by now";
  s.serve(s.a.kept(s.a.notes(), none, t0 + 2 * wait), t0 + 2 * wait);
  EXPECT_TRUE(s.a.voters().has(0));
}

TEST(admission_notes, who_is_away_votes_not_before_it_was_looked_at) {
  store s = of_durable_nodes();
  s.serve(s.a.disconnected(0, t0 + 100s), t0 + 100s);
  s.tick(t0 + 101s);
  EXPECT_EQ(s.a.standing_of(0), standing::away);
  s.connect(0, t0 + 102s);
  EXPECT_TRUE(s.a.voters().has(0));
}

TEST(admission_notes, the_clock_of_one_that_is_doubted_does_not_bring_it_back) {
  store s = of_durable_nodes();
  s.a.on_time(0, clock_before, t0 + 100s, t0 + 100s);
  s.a.doubted(0, t0 + 101s);
  s.a.on_time(0, clock_before + 3600s, t0 + 102s, t0 + 102s);
  EXPECT_EQ(s.a.standing_of(0), standing::away);
  s.a.tick(t0 + 102s + wait);
  EXPECT_EQ(s.a.standing_of(0), standing::away);
}

/// A rewrite of its file hides whether it syncs: what was seen or noted of it before counts.
TEST(admission_notes, one_that_rewrites_its_file_was_seen_to_sync_or_was_not) {
  for (const bool durable : {false, true}) {
    store s = without_records();
    s.file.note_process("host0", "run0", durable, t0 - 1s);
    s.a = admission({.nodes = 3, .tokens = false, .max_ttl = max_ttl, .timeout = timeout}, s.file);
    s.facts[0].rewriting = true;
    s.connect(0, t0);
    EXPECT_EQ(s.a.facts_of(0).durable, durable);
  }
}

}  // namespace
}  // namespace holdfast::core::redlock
