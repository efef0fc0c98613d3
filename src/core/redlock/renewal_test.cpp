#include "core/redlock/renewal_fixture.hpp"

#include "gtest/gtest.h"

#include <map>
#include <set>
#include <vector>

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;

TEST(renewal, goes_to_all_nodes_after_a_third_and_counts_from_sending) {
  held_locks x;
  x.add();
  EXPECT_TRUE(x.r.tick(t0 + 2s - 1ns).send.empty());
  EXPECT_EQ(x.r.wake(), t0 + 2s);
  const auto b = x.send(t0 + 2s);
  ASSERT_EQ(b.locks.size(), 1U);
  x.r.answered(b.number, 0, says({true}), t0 + 3s);
  x.r.answered(b.number, 1, says({true}), t0 + 3s);
  EXPECT_EQ(x.leases[0].until(), t0 + usable(ttl)) << "two of five prove nothing";
  const auto s = x.r.answered(b.number, 4, says({true}), t0 + 3s);
  EXPECT_EQ(x.leases[0].until(), t0 + 2s + usable(ttl));
  EXPECT_EQ(s.wake, t0 + 4s) << "a third after the last send";
}

TEST(renewal, is_sent_again_after_a_sixth_with_a_send_time_of_its_own) {
  held_locks x(3);
  x.add();
  const auto first = x.send(t0 + 2s);
  const auto second = x.send(t0 + 3s);
  EXPECT_NE(first.number, second.number);
  x.r.answered(second.number, 0, says({true}), t0 + 4s);
  x.r.answered(first.number, 1, says({true}), t0 + 4s);
  EXPECT_EQ(x.leases[0].until(), t0 + 2s + usable(ttl)) << "the older of the two sends";
}

TEST(renewal, one_answer_of_a_node_counts_once) {
  held_locks x(3);
  x.add();
  const auto b = x.send(t0 + 2s);
  x.r.answered(b.number, 0, says({true}), t0 + 2s);
  x.r.answered(b.number, 0, says({true}), t0 + 2s);
  x.r.answered(b.number, 7, says({true}), t0 + 2s);
  x.r.answered(b.number + 1, 1, says({true}), t0 + 2s);
  EXPECT_EQ(x.leases[0].until(), t0 + usable(ttl));
}

TEST(renewal, a_lock_is_lost_as_soon_as_a_majority_does_not_have_it) {
  held_locks x(3);
  const handle lost = x.add();
  const handle kept = x.add();
  const auto b = x.send(t0 + 2s);
  x.r.answered(b.number, 0, says({true, true}), t0 + 3s);
  x.r.answered(b.number, 1, says({false, true}), t0 + 3s);
  EXPECT_FALSE(x.leases[0].is_lost()) << "nodes 0 and 2 still protect";
  const auto s = x.r.answered(b.number, 2, says({false, true}), t0 + 3s);
  ASSERT_EQ(s.lost.size(), 1U);
  EXPECT_EQ(s.lost[0].lock, lost);
  EXPECT_EQ(s.lost[0].why, errc::lost);
  EXPECT_TRUE(x.leases[0].is_lost());
  EXPECT_FALSE(x.leases[1].is_lost());
  EXPECT_EQ(x.r.nodes_of(kept), node_set::all(3));
  EXPECT_EQ(x.r.size(), 1U);
}

TEST(renewal, key_and_session_must_hold_on_the_same_majority) {
  held_locks x(3);
  x.add_on(node_set::only(1) | node_set::only(2));
  const auto b = x.send(t0 + 2s);
  x.r.answered(b.number, 0, says({false}), t0 + 3s);
  x.r.answered(b.number, 1, says({true}), t0 + 3s);
  EXPECT_EQ(x.leases[0].until(), t0 + usable(ttl))
      << "the session holds on 0 and 1, the key on 1 and 2";
}

TEST(renewal, a_node_that_did_not_grant_it_protects_nothing) {
  held_locks x(3);
  const node_set granted = node_set::only(1) | node_set::only(2);
  const handle h = x.add_on(granted);
  EXPECT_EQ(x.r.nodes_of(h), granted);
  const auto b = x.send(t0 + 2s);
  const auto s = x.r.answered(b.number, 1, says({false}), t0 + 3s);
  EXPECT_EQ(s.lost.size(), 1U) << "node 2 is all that is left";
  EXPECT_TRUE(x.leases[0].is_lost());
}

TEST(renewal, a_node_that_lost_it_shortens_the_deadline_to_what_the_others_protect) {
  held_locks x(5);
  x.add();
  const auto b = x.send(t0 + 2s);
  for (node_index i = 0; i < 3; ++i) x.r.answered(b.number, i, says({true}), t0 + 3s);
  ASSERT_EQ(x.leases[0].until(), t0 + 2s + usable(ttl));
  const auto c = x.send(t0 + 4s);
  x.r.answered(c.number, 0, says({false}), t0 + 4s);
  EXPECT_EQ(x.leases[0].until(), t0 + usable(ttl)) << "1, 2 and one of 3 and 4";
}

TEST(renewal, a_shortened_deadline_is_told_when_it_ends_though_the_next_batch_is_later) {
  held_locks x(5);
  x.add();
  const auto b = x.send(t0 + 2s);
  for (node_index i = 0; i < 3; ++i) x.r.answered(b.number, i, says({true}), t0 + 2s);
  const auto late = x.r.beat(t0 + 3s).send.at(0);
  const auto c = x.send(t0 + 4s);
  for (node_index i = 0; i < 3; ++i) x.r.answered(c.number, i, says({true}), t0 + 4s);
  EXPECT_EQ(x.r.wake(), t0 + 6s);
  const auto s = x.r.answered(late.number, 0, says({false}), t0 + 4s);
  EXPECT_EQ(s.shortened.size(), 1U);
  ASSERT_EQ(x.leases[0].until(), t0 + usable(ttl)) << "1, 2 and one of 3 and 4";
  EXPECT_EQ(s.wake, t0 + usable(ttl));
  EXPECT_EQ(x.r.tick(t0 + usable(ttl)).lost.size(), 1U);
}

TEST(renewal, an_error_or_silence_keeps_what_was_proven_until_it_ends) {
  held_locks x(3);
  const handle h = x.add();
  x.send(t0 + 2s);
  for (time_point t = t0 + 3s; t < t0 + usable(ttl); t += 1s) {
    const auto s = x.r.tick(t);
    EXPECT_EQ(s.send.size(), 1U);
    EXPECT_TRUE(s.lost.empty());
  }
  EXPECT_EQ(x.r.wake(), t0 + usable(ttl)) << "the end is reported in time";
  const auto s = x.r.tick(t0 + usable(ttl));
  ASSERT_EQ(s.lost.size(), 1U);
  EXPECT_EQ(s.lost[0].lock, h);
}

TEST(renewal, a_passed_deadline_is_not_extended_by_a_late_answer) {
  held_locks x(3);
  x.add();
  const auto b = x.send(t0 + 5s);
  x.r.answered(b.number, 0, says({true}), t0 + usable(ttl) - 1ns);
  const auto s = x.r.answered(b.number, 1, says({true}), t0 + usable(ttl));
  EXPECT_EQ(s.lost.size(), 1U);
  EXPECT_TRUE(x.leases[0].is_lost());
}

TEST(renewal, a_lock_that_a_check_found_ended_is_told_and_dropped) {
  held_locks x(3);
  x.add();
  x.leases[0].lose();
  EXPECT_EQ(x.r.tick(t0 + 2s).lost.size(), 1U);
  EXPECT_EQ(x.r.size(), 0U);
}

TEST(renewal, a_lock_whose_lease_ends_before_anything_is_due_is_lost_at_that_moment) {
  held_locks x;
  lease brief(t0 + 1s);
  const handle h = x.r.add(brief, node_set::all(5), t0 + usable(ttl), token{7}, 9);
  EXPECT_EQ(x.r.wake(), t0 + 1s);
  EXPECT_TRUE(x.r.tick(t0 + 1s - 1ns).lost.empty());
  const auto s = x.r.tick(t0 + 1s);
  ASSERT_EQ(s.lost.size(), 1U);
  EXPECT_EQ(s.lost[0].lock, h);
}

TEST(renewal, repairs_a_lost_node_only_after_a_majority_confirmed) {
  held_locks x(5);
  const handle h = x.add();
  const auto b = x.send(t0 + 2s);
  auto s = x.r.answered(b.number, 0, says({false}), t0 + 2s);
  EXPECT_TRUE(s.repairs.empty());
  x.r.answered(b.number, 1, says({true}), t0 + 2s);
  x.r.answered(b.number, 2, says({true}), t0 + 2s);
  s = x.r.answered(b.number, 3, says({true}), t0 + 2s);
  ASSERT_EQ(s.repairs.size(), 1U);
  EXPECT_EQ(s.repairs[0].node, 0U);
  EXPECT_EQ(s.repairs[0].lock, h);
  EXPECT_EQ(s.repairs[0].at_least, token{7});
  s = x.r.answered(b.number, 4, says({false}), t0 + 2s);
  ASSERT_EQ(s.repairs.size(), 1U) << "one is under way at node 0";
  EXPECT_EQ(s.repairs[0].node, 4U);
  x.r.repaired(s.repairs[0].number, true, t0 + 3s);
  EXPECT_EQ(x.r.nodes_of(h), node_set::all(5) - node_set::only(0));
}

TEST(renewal, a_lock_that_follows_another_in_its_place_is_repaired_where_that_one_was) {
  held_locks x(3);
  const auto answers_of = [&](time_point at) {
    const auto b = x.send(at);
    x.r.answered(b.number, 0, says({true}), at);
    x.r.answered(b.number, 1, says({true}), at);
    return x.r.answered(b.number, 2, says({false}), at);
  };
  const handle first = x.add_on(node_set::all(2));
  EXPECT_EQ(answers_of(t0 + 2s).repairs.size(), 1U);
  x.r.remove(first);
  const handle next = x.add_on(node_set::all(2));
  ASSERT_EQ(next.slot, first.slot);
  const auto s = answers_of(t0 + 3s);
  ASSERT_EQ(s.repairs.size(), 1U);
  EXPECT_EQ(s.repairs[0].lock, next);
}

TEST(renewal, an_answer_that_comes_twice_is_no_second_confirmation_for_a_repair) {
  held_locks x(5);
  x.add();
  const auto b = x.send(t0 + 2s);
  x.r.answered(b.number, 0, says({false}), t0 + 2s);
  x.r.answered(b.number, 1, says({true}), t0 + 2s);
  EXPECT_TRUE(x.r.answered(b.number, 1, says({true}), t0 + 2s).repairs.empty());
  EXPECT_TRUE(x.r.answered(b.number, 2, says({true}), t0 + 2s).repairs.empty()) << "two have it";
}

TEST(renewal, a_repair_counts_from_its_sending_and_a_refused_one_not_at_all) {
  held_locks x(3);
  const handle h = x.add_on(node_set::only(0) | node_set::only(1));
  const auto b = x.send(t0 + 2s);
  x.r.answered(b.number, 2, says({false}), t0 + 2s);
  x.r.answered(b.number, 0, says({true}), t0 + 2s);
  auto s = x.r.answered(b.number, 1, says({true}), t0 + 3s);
  ASSERT_EQ(s.repairs.size(), 1U);
  x.r.repaired(s.repairs[0].number, false, t0 + 3s);
  EXPECT_FALSE(x.r.nodes_of(h).has(2));
  const auto c = x.send(t0 + 4s);
  x.r.answered(c.number, 2, says({false}), t0 + 4s);
  x.r.answered(c.number, 0, says({true}), t0 + 4s);
  s = x.r.answered(c.number, 1, says({true}), t0 + 4s + 500ms);
  ASSERT_EQ(s.repairs.size(), 1U);
  x.r.repaired(s.repairs[0].number, true, t0 + 5s);
  EXPECT_TRUE(x.r.nodes_of(h).has(2));
  EXPECT_EQ(x.leases[0].until(), t0 + 4s + usable(ttl));
  // Node 1 loses it next; 0 and the repaired one remain.
  const auto d = x.send(t0 + 6s);
  x.r.answered(d.number, 1, says({false}), t0 + 6s);
  EXPECT_EQ(x.leases[0].until(), t0 + 4s + usable(ttl));
  x.r.answered(d.number, 0, says({true}), t0 + 6s);
  EXPECT_EQ(x.leases[0].until(), t0 + 4s + 500ms + usable(ttl));
}

TEST(renewal, a_late_grant_of_the_attempt_counts) {
  held_locks x(3);
  const handle h = x.add_on(node_set::only(0) | node_set::only(1));
  x.r.granted_late(h, 2);
  EXPECT_EQ(x.r.nodes_of(h), node_set::all(3));
}

TEST(renewal, a_late_grant_counts_from_the_attempt_whatever_was_sent_since) {
  held_locks x(5);
  const handle h = x.add_on(node_set::only(0) | node_set::only(1) | node_set::only(2));
  // Node 3 has somebody else's key, and gets a repair that was sent long after the attempt.
  const auto b = x.send(t0 + 2s);
  for (const node_index i : {0, 1, 2}) x.r.answered(b.number, i, says({true}), t0 + 2s);
  const auto s = x.r.answered(b.number, 3, says({false}), t0 + 3s);
  ASSERT_EQ(s.repairs.size(), 1U);
  x.r.repaired(s.repairs[0].number, false, t0 + 3s);
  const auto c = x.send(t0 + 4s);
  x.r.answered(c.number, 0, says({true}), t0 + 4s);
  x.r.answered(c.number, 1, says({true}), t0 + 4s);
  // Node 4 was granted it at t0, and said so only now: there it ends with the attempt.
  x.r.granted_late(h, 4);
  EXPECT_EQ(x.leases[0].until(), t0 + 2s + usable(ttl)) << "of 0, 1 and 2";
  const auto d = x.send(t0 + 5s);
  x.r.answered(d.number, 2, says({false}), t0 + 5s);
  EXPECT_EQ(x.leases[0].until(), t0 + usable(ttl)) << "of 0, 1 and 4";
}

TEST(renewal, a_missing_session_drops_the_node_and_is_written_again_by_a_majority) {
  held_locks x(3);
  const handle h = x.add();
  const auto b = x.send(t0 + 2s);
  auto s = x.r.answered(b.number, 0, says({}, there::missing), t0 + 2s);
  EXPECT_TRUE(s.reopen.empty());
  EXPECT_FALSE(x.r.nodes_of(h).has(0));
  x.r.answered(b.number, 1, says({true}), t0 + 2s);
  s = x.r.answered(b.number, 2, says({true}), t0 + 2s);
  EXPECT_EQ(s.reopen, node_set::only(0));
  EXPECT_TRUE(s.repairs.empty()) << "not before the session is there";
  s = x.r.reopened(0, true, t0 + 2s);
  ASSERT_EQ(s.repairs.size(), 1U) << "the next batch may be far";
  EXPECT_EQ(s.repairs[0].node, 0U);
  const auto c = x.send(t0 + 4s);
  x.r.answered(c.number, 0, says({false}), t0 + 4s);
  x.r.answered(c.number, 1, says({true}), t0 + 4s);
  EXPECT_TRUE(x.r.answered(c.number, 2, says({true}), t0 + 4s).repairs.empty()) << "under way";
}

TEST(renewal, a_record_that_is_back_repairs_only_what_a_majority_confirmed_and_still_counts) {
  for (const bool confirmed : {false, true}) {
    held_locks x(5);
    x.add();
    const auto b = x.send(t0 + 2s);
    x.r.answered(b.number, 0, says({}, there::missing), t0 + 2s);
    for (node_index i = 1; i < 4; ++i) {
      if (confirmed || i != 3) x.r.answered(b.number, i, says({true}), t0 + 2s);
    }
    EXPECT_EQ(x.r.reopened(0, true, t0 + 3s).repairs.size(), confirmed ? 1U : 0U);
    EXPECT_TRUE(x.r.reopened(0, true, t0 + 3s).repairs.empty()) << "it is under way";
  }
  held_locks x(3);
  x.add();
  const auto b = x.send(t0 + 2s);
  x.r.answered(b.number, 0, says({}, there::missing), t0 + 2s);
  for (node_index i = 1; i < 3; ++i) x.r.answered(b.number, i, says({true}), t0 + 2s);
  EXPECT_TRUE(x.r.reopened(0, false, t0 + 2s).repairs.empty()) << "it is not back";
  EXPECT_TRUE(x.r.reopened(0, true, t0 + 2s + ttl).repairs.empty()) << "the lease is over";
}

TEST(renewal, a_session_that_a_refused_lock_finds_missing_is_written_again_once) {
  held_locks x(3);
  const handle h = x.add();
  EXPECT_EQ(x.r.session_missing(2).reopen, node_set::only(2));
  EXPECT_TRUE(x.r.session_missing(2).reopen.empty()) << "it is on its way";
  EXPECT_TRUE(x.r.nodes_of(h).has(2)) << "the answer was about another lock";
  x.r.reopened(2, false, t0);
  EXPECT_EQ(x.r.session_missing(2).reopen, node_set::only(2));
}

TEST(renewal, a_session_that_is_denied_somewhere_is_not_written_again_there) {
  held_locks x(5);
  x.add();
  const auto b = x.send(t0 + 2s);
  x.r.answered(b.number, 2, says({}, there::denied), t0 + 2s);
  EXPECT_TRUE(x.r.session_missing(2).reopen.empty());
  EXPECT_EQ(x.r.session_missing(3).reopen, node_set::only(3));
}

TEST(renewal, a_denial_at_too_few_nodes_is_over_when_they_have_no_record_any_more) {
  held_locks x(3);
  const handle h = x.add();
  auto b = x.send(t0 + 2s);
  for (node_index i = 0; i < 2; ++i) x.r.answered(b.number, i, says({true}), t0 + 2s);
  x.r.answered(b.number, 2, says({}, there::denied), t0 + 2s);
  b = x.send(t0 + 4s);
  for (node_index i = 0; i < 2; ++i) x.r.answered(b.number, i, says({true}), t0 + 4s);
  const auto s = x.r.answered(b.number, 2, says({}, there::missing), t0 + 4s);
  EXPECT_EQ(s.reopen, node_set::only(2));
  const auto repairs = x.r.reopened(2, true, t0 + 4s).repairs;
  ASSERT_EQ(repairs.size(), 1U);
  x.r.repaired(repairs[0].number, true, t0 + 4s);
  EXPECT_TRUE(x.r.nodes_of(h).has(2));
}

TEST(renewal, denials_that_are_over_do_not_add_up) {
  held_locks x(3);
  x.add();
  auto b = x.send(t0 + 2s);
  x.r.answered(b.number, 0, says({true}), t0 + 2s);
  x.r.answered(b.number, 1, says({true}), t0 + 2s);
  x.r.answered(b.number, 2, says({}, there::denied), t0 + 2s);
  b = x.send(t0 + 4s);
  x.r.answered(b.number, 2, says({}, there::missing), t0 + 4s);
  EXPECT_FALSE(x.r.answered(b.number, 1, says({}, there::denied), t0 + 4s).denied);
  EXPECT_TRUE(x.r.answered(b.number, 0, says({}, there::denied), t0 + 4s).denied);
}

TEST(renewal, a_session_missing_on_a_majority_ends_its_locks) {
  held_locks x(3);
  x.add();
  const auto b = x.send(t0 + 2s);
  x.r.answered(b.number, 0, says({}, there::missing), t0 + 2s);
  const auto s = x.r.answered(b.number, 1, says({}, there::missing), t0 + 2s);
  EXPECT_EQ(s.lost.size(), 1U);
}

TEST(renewal, a_deny_at_enough_nodes_ends_every_lock_at_once) {
  held_locks x(5);
  x.add();
  x.add();
  const auto b = x.send(t0 + 2s);
  for (node_index i = 0; i < 2; ++i) {
    EXPECT_FALSE(x.r.answered(b.number, i, says({}, there::denied), t0 + 2s).denied);
  }
  const auto s = x.r.answered(b.number, 2, says({}, there::denied), t0 + 2s);
  EXPECT_TRUE(s.denied);
  ASSERT_EQ(s.lost.size(), 2U);
  EXPECT_EQ(s.lost[0].why, errc::denied);
  EXPECT_TRUE(x.leases[0].is_lost());
  EXPECT_EQ(s.wake, time_point::max());
  EXPECT_TRUE(x.r.tick(t0 + 1h).send.empty());
}

TEST(renewal, an_empty_session_beats_its_records) {
  held_locks x(3);
  const auto b = x.send(t0 + 2s);
  EXPECT_TRUE(b.locks.empty());
  const auto s = x.r.answered(b.number, 0, says({}, there::missing), t0 + 2s);
  EXPECT_EQ(s.reopen, node_set::only(0)) << "there is nothing to protect";
  x.r.answered(b.number, 1, says({}), t0 + 2s);
  x.r.answered(b.number, 2, says({}), t0 + 2s);
  EXPECT_EQ(x.r.wake(), t0 + 4s);
}

TEST(renewal, batches_have_at_most_100_locks_and_fill_up_again) {
  held_locks x(3);
  std::vector<handle> all;
  for (int i = 0; i < 250; ++i) all.push_back(x.add());
  const auto s = x.r.tick(t0 + 2s);
  ASSERT_EQ(s.send.size(), 3U);
  EXPECT_EQ(s.send[0].locks.size() + s.send[1].locks.size() + s.send[2].locks.size(), 250U);
  for (const auto& b : s.send) EXPECT_LE(b.locks.size(), renewal::batch_max);
  for (int i = 0; i < 200; ++i) x.r.remove(all[static_cast<std::size_t>(i)]);
  for (int i = 0; i < 100; ++i) x.add();
  EXPECT_EQ(x.r.size(), 150U);
  std::size_t sent = 0;
  for (const auto& b : x.r.tick(t0 + 3s).send) sent += b.locks.size();
  EXPECT_EQ(sent, 150U);
}

TEST(renewal, few_batches_are_under_way_and_a_majority_brings_the_next) {
  held_locks x(3);
  for (int i = 0; i < 1'000; ++i) x.add();
  const auto first = x.r.tick(t0 + 2s).send;
  ASSERT_EQ(first.size(), renewal::under_way_max);
  EXPECT_TRUE(x.r.tick(t0 + 2s).send.empty());
  EXPECT_TRUE(x.r.answered(first[0].number, 0, says({}), t0 + 2s).send.empty()) << "one of three";
  EXPECT_EQ(x.r.answered(first[0].number, 1, says({}), t0 + 2s).send.size(), 1U);
  EXPECT_TRUE(x.r.answered(first[0].number, 2, says({}), t0 + 2s).send.empty()) << "counted once";
  // An answer that proves nothing is one, too.
  x.r.answered(first[1].number, 0, says({}, there::missing), t0 + 2s);
  EXPECT_EQ(x.r.answered(first[1].number, 2, says({}, there::missing), t0 + 2s).send.size(), 1U);
}

TEST(renewal, every_batch_leaves_within_a_sixth_though_nobody_answers) {
  held_locks x(3);
  for (int i = 0; i < 1'000; ++i) x.add();
  std::set<std::uint32_t> sent;
  for (time_point now = t0 + 2s; now < t0 + 3s; now = x.r.wake()) {
    const auto step = x.r.tick(now);
    EXPECT_LE(step.send.size(), renewal::under_way_max);
    for (const auto& b : step.send) {
      for (const auto& h : b.locks) EXPECT_TRUE(sent.insert(h.slot).second) << "sent again early";
    }
  }
  EXPECT_EQ(sent.size(), 1'000U);
}

TEST(renewal, a_beat_sends_the_sessions_own_records_first) {
  held_locks x(3);
  for (int i = 0; i < 1'000; ++i) x.add();
  const auto first = x.r.tick(t0 + 2s).send;
  const auto records = first.at(0).locks;
  EXPECT_TRUE(x.r.beat(t0 + 2s + 1ms).send.empty());
  x.r.answered(first[1].number, 0, says({}), t0 + 2s + 2ms);
  const auto next = x.r.answered(first[1].number, 1, says({}), t0 + 2s + 2ms).send;
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].locks, records);
}

TEST(renewal, a_denied_session_sends_nothing_of_what_waits) {
  held_locks x(3);
  for (int i = 0; i < 1'000; ++i) x.add();
  const auto first = x.r.tick(t0 + 2s).send;
  x.r.beat(t0 + 2s);
  x.r.answered(first[0].number, 0, says({}, there::denied), t0 + 2s);
  const auto s = x.r.answered(first[0].number, 1, says({}, there::denied), t0 + 2s);
  EXPECT_TRUE(s.denied);
  EXPECT_TRUE(s.send.empty());
  EXPECT_TRUE(x.r.tick(t0 + 4s).send.empty());
}

TEST(renewal, a_lock_that_ends_or_is_removed_while_its_batch_waits_is_not_sent) {
  held_locks x(3);
  std::vector<handle> all;
  for (int i = 0; i < 1'000; ++i) all.push_back(x.add());
  x.r.tick(t0 + 2s);
  for (const handle& h : all) x.r.remove(h);
  EXPECT_TRUE(x.r.tick(t0 + 3s - 1ns).send.empty());
  EXPECT_EQ(x.r.wake(), t0 + 3s);
  const auto s = x.r.tick(t0 + 3s);
  ASSERT_EQ(s.send.size(), 1U) << "the session's own records remain";
  EXPECT_TRUE(s.send[0].locks.empty());
}

TEST(renewal, the_answer_to_a_removed_lock_does_not_touch_its_slots_next_user) {
  held_locks x(3);
  const handle old = x.add();
  const auto b = x.send(t0 + 2s);
  x.r.remove(old);
  const handle next = x.add();
  ASSERT_EQ(next.slot, old.slot);
  for (node_index i = 0; i < 3; ++i) x.r.answered(b.number, i, says({false}), t0 + 2s);
  EXPECT_FALSE(x.leases[1].is_lost());
  EXPECT_EQ(x.r.nodes_of(next), node_set::all(3));
  x.r.remove(old);
  EXPECT_EQ(x.r.size(), 1U) << "removed once";
}

}  // namespace
}  // namespace holdfast::core::redlock
