#include "core/redlock/renewal_fixture.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

/// Answers that come late or in another order, and several locks in one batch.

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;

TEST(renewal_answers, of_an_earlier_batch_take_nothing_back_that_a_later_one_gave) {
  held_locks x(3);
  x.add();
  const auto first = x.send(t0 + 2s);
  const auto second = x.send(t0 + 3s);
  for (const node_index i : {0U, 1U}) x.r.answered(second.number, i, says({true}), t0 + 3s);
  EXPECT_EQ(x.leases[0].until(), t0 + 3s + usable(ttl));
  for (const node_index i : {0U, 1U}) {
    const auto s = x.r.answered(first.number, i, says({true}), t0 + 4s);
    EXPECT_TRUE(s.shortened.empty());
  }
  x.r.answered(second.number, 2, says({false}), t0 + 4s);
  EXPECT_EQ(x.leases[0].until(), t0 + 3s + usable(ttl));
}

TEST(renewal_answers, a_late_grant_takes_nothing_back_that_an_extension_gave) {
  held_locks x(3);
  const handle h = x.add_on(node_set::all(2));
  x.r.tick(t0 + 125ms);
  const auto b = x.send(t0 + 2s);
  x.r.answered(b.number, 2, says({true}), t0 + 2s);
  x.r.granted_late(h, 2);
  x.r.answered(b.number, 0, says({true}), t0 + 2s);
  EXPECT_EQ(x.leases[0].until(), t0 + 2s + usable(ttl)) << "nodes 0 and 2 extended it";
}

TEST(renewal_answers, a_batch_is_confirmed_when_each_of_its_locks_is) {
  held_locks x(3);
  const handle first = x.add();
  const handle second = x.add();
  const auto b = x.send(t0 + 2s);
  ASSERT_EQ(b.locks, (std::vector{first, second}));
  x.r.answered(b.number, 0, says({true, true}), t0 + 2s);
  x.r.answered(b.number, 1, says({false, true}), t0 + 2s);
  EXPECT_EQ(x.r.wake(), t0 + 3s) << "the first one is asked for again, a sixth later";
}

TEST(renewal_answers, a_missing_session_says_nothing_of_a_lock_that_was_removed) {
  held_locks x(3);
  const handle gone = x.add();
  const handle kept = x.add();
  const auto b = x.send(t0 + 2s);
  x.r.remove(gone);
  x.r.answered(b.number, 0, says({}, there::missing), t0 + 2s);
  EXPECT_TRUE(x.r.nodes_of(gone).empty());
  EXPECT_FALSE(x.r.nodes_of(kept).has(0));
  const handle next = x.add();
  ASSERT_EQ(next.slot, gone.slot);
  x.r.answered(b.number, 1, says({}, there::missing), t0 + 2s);
  EXPECT_EQ(x.r.nodes_of(next), node_set::all(3)) << "that batch did not ask for it";
}

TEST(renewal_answers, a_denial_ends_the_locks_that_are_left) {
  held_locks x(3);
  const handle gone = x.add();
  const handle kept = x.add();
  const auto b = x.send(t0 + 2s);
  x.r.remove(gone);
  x.r.answered(b.number, 0, says({}, there::denied), t0 + 2s);
  const auto s = x.r.answered(b.number, 1, says({}, there::denied), t0 + 2s);
  ASSERT_EQ(s.lost.size(), 1U);
  EXPECT_EQ(s.lost[0].lock, kept);
}

TEST(renewal_answers, a_lock_that_was_over_before_they_came_is_repaired_nowhere) {
  held_locks x(3);
  x.add_on(node_set::all(2));
  const auto b = x.send(t0 + 125ms);
  for (const node_index i : {0U, 1U}) x.r.answered(b.number, i, says({true}), t0 + 200ms);
  const auto s = x.r.answered(b.number, 2, says({false}), t0 + 125ms + usable(ttl));
  EXPECT_TRUE(s.repairs.empty());
  EXPECT_TRUE(x.leases[0].is_lost());
}

TEST(renewal_answers, that_change_no_deadline_shorten_none) {
  held_locks x(5);
  x.add();
  const auto b = x.send(t0 + 2s);
  const auto s = x.r.answered(b.number, 0, says({false}), t0 + 2s);
  EXPECT_TRUE(s.lost.empty());
  EXPECT_TRUE(s.shortened.empty()) << "four others have it for as long";
}

TEST(renewal_due, a_lock_that_is_added_later_puts_off_no_renewal) {
  held_locks x(3);
  const handle first = x.add();
  std::deque<lease> more;
  for (int i = 1; i < 4; ++i) {
    const time_point until = t0 + i * 500ms + usable(ttl);
    more.emplace_back(until);
    x.r.add(more.back(), node_set::all(3), until, token{8});
  }
  EXPECT_EQ(x.r.wake(), t0 + 2s);
  const auto b = x.send(t0 + 2s);
  ASSERT_EQ(b.locks.size(), 4U);
  EXPECT_EQ(b.locks[0], first);
}

TEST(renewal_due, a_lock_is_due_by_when_it_was_asked_for) {
  held_locks x(3);
  const auto own = x.send(t0 + 2s);
  for (const node_index i : {0U, 1U}) x.r.answered(own.number, i, says({}), t0 + 2s);
  ASSERT_EQ(x.r.wake(), t0 + 4s);
  const time_point until = t0 + 1500ms + usable(ttl);
  lease slow(until);
  x.r.add(slow, node_set::all(3), until, token{8});
  EXPECT_EQ(x.r.wake(), t0 + 3500ms) << "its answers took longer than those of the batch";
}

TEST(renewal_due, the_time_between_two_batches_is_what_was_asked_for) {
  renewal r({.nodes = 3, .ttl = ttl, .period = 2500ms}, t0);
  EXPECT_EQ(r.wake(), t0 + 2500ms);
  const auto s = r.tick(t0 + 2500ms);
  ASSERT_EQ(s.send.size(), 1U);
  for (const node_index i : {0U, 1U}) r.answered(s.send[0].number, i, says({}), t0 + 2500ms);
  EXPECT_EQ(r.wake(), t0 + 5s);
}

/// Whichever of them is the first in its group.
TEST(renewal_due, each_lock_that_ends_is_told_at_its_end) {
  for (const bool longer_first : {true, false}) {
    renewal r({.nodes = 3, .ttl = ttl, .period = 10s}, t0);
    const time_point early = t0 + usable(ttl);
    lease first(longer_first ? early + 1s : early);
    lease second(longer_first ? early : early + 1s);
    for (lease* l : {&first, &second}) r.add(*l, node_set::all(3), l->until(), token{7});
    lease ended(t0 + 1s);
    r.add(ended, node_set::all(3), early, token{7});
    EXPECT_EQ(r.tick(t0 + 1s).lost.size(), 1U);
    EXPECT_EQ(r.wake(), early);
    EXPECT_EQ(r.tick(early).lost.size(), 1U);
    EXPECT_EQ(r.wake(), early + 1s);
  }
}

TEST(renewal_due, room_in_a_full_group_is_used_again) {
  held_locks x(3);
  std::vector<handle> all;
  for (std::size_t i = 0; i < renewal::batch_max; ++i) all.push_back(x.add());
  for (std::size_t i = 0; i < 10; ++i) {
    x.r.remove(all[i]);
    x.add();
  }
  EXPECT_EQ(x.send(t0 + 2s).locks.size(), renewal::batch_max) << "all in one batch";
}

/// Each is due now or then, and fills its place among those under way.
TEST(renewal_due, what_is_lacking_waits_while_many_are_under_way) {
  held_locks x(3);
  for (std::size_t i = 0; i < 3 * renewal::batch_max; ++i) x.add();
  const time_point until = t0 + 2s + usable(ttl);
  lease near(until);
  x.r.add(near, node_set::all(2), until, token{8});
  const auto s = x.r.beat(t0 + 2s);
  ASSERT_EQ(s.send.size(), renewal::under_way_max);
  EXPECT_TRUE(x.r.tick(t0 + 2s + 125ms).send.empty());
  for (const auto& b : s.send) {
    renewal::answer a;
    a.ours.set();
    for (const node_index i : {0U, 1U}) x.r.answered(b.number, i, a, t0 + 2s + 126ms);
  }
  const auto later = x.r.tick(t0 + 2s + 225ms);
  ASSERT_EQ(later.send.size(), 1U) << "when there is room";
  EXPECT_EQ(later.send[0].locks.size(), 1U);
}

TEST(renewal_due, a_batch_soon_after_another_makes_no_node_a_silent_one) {
  held_locks x(3);
  x.add();
  const auto first = x.send(t0 + 2s);
  x.r.beat(t0 + 2s + 50ms);
  for (const node_index i : {0U, 1U}) x.r.answered(first.number, i, says({true}), t0 + 2s + 60ms);
  const time_point until = t0 + 2s + 60ms + usable(ttl);
  lease near(until);
  x.r.add(near, node_set::all(2), until, token{8});
  const auto s = x.r.tick(t0 + 2s + 60ms + 125ms);
  ASSERT_EQ(s.send.size(), 1U) << "node 2 had no time to answer";
}

TEST(renewal_due, a_lock_that_ends_unheard_says_whether_the_limit_was_reached) {
  held_locks x(3);
  const handle last = x.add(1);
  x.add(2);
  x.send(t0 + 2s);
  const auto s = x.r.tick(t0 + usable(ttl));
  ASSERT_EQ(s.lost.size(), 2U);
  for (const auto& l : s.lost) EXPECT_EQ(l.used_up, l.lock == last);
}

}  // namespace
}  // namespace holdfast::core::redlock
