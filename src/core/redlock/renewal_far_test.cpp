#include "core/redlock/renewal_fixture.hpp"

#include "gtest/gtest.h"

/// Nodes that answer after a majority has.

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;

/// A sixteenth of the time between two renewals.
constexpr duration soon = 125ms;

struct near_lock : held_locks {
  handle h{add_on(node_set::all(3))};
};

TEST(renewal, a_lock_that_lacks_nodes_is_on_all_of_them_soon) {
  near_lock x;
  EXPECT_EQ(x.r.wake(), t0 + soon);
  EXPECT_TRUE(x.r.tick(t0 + soon - 1ns).send.empty());
  const auto b = x.send(t0 + soon);
  ASSERT_EQ(b.locks.size(), 1U);
  for (node_index i = 0; i < 3; ++i) x.r.answered(b.number, i, says({true}), t0 + soon);
  const auto s = x.r.answered(b.number, 3, says({false}), t0 + soon + 30ms);
  ASSERT_EQ(s.repairs.size(), 1U);
  x.r.repaired(s.repairs[0].number, true, t0 + soon + 60ms);
  EXPECT_TRUE(x.r.nodes_of(x.h).has(3));
  x.r.tick(t0 + 2s - 1ns);
  EXPECT_EQ(x.send(t0 + 2s).locks.size(), 1U) << "the renewal is when it was";
}

TEST(renewal, a_node_that_misses_the_session_after_a_majority_confirmed_gets_it_at_once) {
  near_lock x;
  const auto b = x.send(t0 + soon);
  for (node_index i = 0; i < 3; ++i) {
    EXPECT_TRUE(x.r.answered(b.number, i, says({true}), t0 + soon).reopen.empty());
  }
  const auto s = x.r.answered(b.number, 4, says({}, there::missing), t0 + soon + 30ms);
  EXPECT_EQ(s.reopen, node_set::only(4));
  ASSERT_EQ(x.r.reopened(4, true, t0 + soon + 60ms).repairs.size(), 1U);
}

TEST(renewal, a_lock_is_not_asked_for_when_the_late_answers_have_come) {
  near_lock x;
  x.r.granted_late(x.h, 3);
  x.r.granted_late(x.h, 4);
  EXPECT_TRUE(x.r.tick(t0 + soon).send.empty());
  EXPECT_EQ(x.r.wake(), t0 + 2s);
}

TEST(renewal, only_the_locks_that_lack_nodes_are_asked_for) {
  near_lock x;
  x.add();
  const auto b = x.send(t0 + soon);
  ASSERT_EQ(b.locks.size(), 1U);
  EXPECT_EQ(b.locks[0], x.h);
  for (node_index i = 0; i < 3; ++i) x.r.answered(b.number, i, says({true}), t0 + soon);
  EXPECT_EQ(x.r.wake(), t0 + 2s) << "the other one is due no later";
}

TEST(renewal, what_a_lock_lacks_takes_none_of_its_extensions) {
  held_locks x;
  const handle h = x.add_on(node_set::all(3), 1);
  EXPECT_TRUE(x.r.tick(t0 + soon).send.empty());
  EXPECT_FALSE(x.r.is_used_up(h));
}

TEST(renewal, a_node_that_does_not_answer_is_not_asked_again_for_each_new_lock) {
  near_lock x;
  const auto answer = [&](const renewal::batch& b, time_point at) {
    for (node_index i = 0; i < 4; ++i) x.r.answered(b.number, i, says({true, true}), at);
  };
  answer(x.send(t0 + soon), t0 + soon);
  const auto b = x.send(t0 + 2s);
  answer(b, t0 + 2s);
  // Node 4 has not answered; the next lock lacks nothing but that.
  x.leases.emplace_back(t0 + 2s + usable(ttl));
  const auto four = node_set::all(4);
  x.r.add(x.leases.back(), four, t0 + 2s + usable(ttl), token{8});
  EXPECT_TRUE(x.r.tick(t0 + 2s + soon).send.empty());
  x.r.answered(b.number, 4, says({false}), t0 + 3s);
  x.leases.emplace_back(t0 + 3s + usable(ttl));
  x.r.add(x.leases.back(), four, t0 + 3s + usable(ttl), token{9});
  EXPECT_EQ(x.send(t0 + 3s + soon).locks.size(), 3U) << "it answers again";
}

TEST(renewal, what_is_due_goes_before_what_is_lacking) {
  held_locks x;
  for (int i = 0; i < 1'000; ++i) x.add();
  ASSERT_EQ(x.r.tick(t0 + 2s).send.size(), renewal::under_way_max);
  x.leases.emplace_back(t0 + 2s + usable(ttl));
  x.r.add(x.leases.back(), node_set::all(3), t0 + 2s + usable(ttl), token{8});
  for (time_point now = t0 + 2s; now < t0 + 2s + 2 * soon; now += 1ms) {
    for (const auto& b : x.r.tick(now).send) EXPECT_NE(b.locks.size(), 1U);
  }
}

TEST(renewal, the_session_is_kept_for_as_long_as_a_majority_has_said) {
  held_locks x(3);
  EXPECT_EQ(x.r.session_until(), time_point::min());
  const auto first = x.send(t0 + 2s);
  x.r.answered(first.number, 0, says({}), t0 + 2s);
  EXPECT_EQ(x.r.session_until(), time_point::min()) << "one of three";
  const auto second = x.send(t0 + 3s);
  x.r.answered(second.number, 1, says({}), t0 + 3s);
  EXPECT_EQ(x.r.session_until(), t0 + 2s + usable(ttl)) << "from the older of the two sends";
  x.r.answered(second.number, 0, says({}), t0 + 3s);
  x.r.answered(first.number, 1, says({}), t0 + 3s);
  EXPECT_EQ(x.r.session_until(), t0 + 3s + usable(ttl)) << "a late answer takes nothing back";
}

TEST(renewal, a_session_that_is_denied_is_written_again_nowhere) {
  held_locks x(3);
  x.add();
  const auto b = x.send(t0 + 2s);
  for (node_index i = 0; i < 2; ++i) x.r.answered(b.number, i, says({}, there::denied), t0 + 2s);
  const auto late = x.r.answered(b.number, 2, says({}, there::missing), t0 + 2s);
  EXPECT_TRUE(late.reopen.empty());
  EXPECT_TRUE(x.r.session_missing(2).reopen.empty());
}

TEST(renewal, a_node_that_misses_the_session_is_asked_to_take_it_once) {
  held_locks x(5);
  x.add();
  const auto b = x.send(t0 + 2s);
  x.r.answered(b.number, 0, says({}, there::missing), t0 + 2s);
  x.r.answered(b.number, 1, says({true}), t0 + 2s);
  x.r.answered(b.number, 2, says({true}), t0 + 2s);
  ASSERT_EQ(x.r.answered(b.number, 3, says({true}), t0 + 2s).reopen, node_set::only(0));
  EXPECT_TRUE(x.r.answered(b.number, 4, says({true}), t0 + 2s).reopen.empty()) << "under way";
}

TEST(renewal, a_node_that_denies_the_session_meanwhile_is_not_asked_to_take_it) {
  held_locks x(5);
  x.add();
  const auto first = x.send(t0 + 2s);
  x.r.answered(first.number, 0, says({}, there::missing), t0 + 2s);
  const auto second = x.send(t0 + 3s);
  x.r.answered(second.number, 0, says({}, there::denied), t0 + 3s);
  for (node_index i = 1; i < 5; ++i) {
    EXPECT_TRUE(x.r.answered(second.number, i, says({true}), t0 + 3s).reopen.empty());
  }
}

TEST(renewal, the_answer_to_a_repair_does_not_touch_its_slots_next_user) {
  held_locks x(3);
  const handle gone = x.add();
  const auto b = x.send(t0 + 2s);
  x.r.answered(b.number, 0, says({true}), t0 + 2s);
  x.r.answered(b.number, 1, says({true}), t0 + 2s);
  const auto s = x.r.answered(b.number, 2, says({false}), t0 + 2s);
  ASSERT_EQ(s.repairs.size(), 1U);
  x.r.remove(gone);
  const handle next = x.add_on(node_set::all(2));
  ASSERT_EQ(next.slot, gone.slot);
  x.r.repaired(s.repairs[0].number, true, t0 + 3s);
  EXPECT_FALSE(x.r.nodes_of(next).has(2)) << "there is the key of another attempt";
}

TEST(renewal, each_repair_has_an_answer_of_its_own) {
  held_locks x(5);
  const handle h = x.add();
  const auto b = x.send(t0 + 2s);
  for (node_index i = 0; i < 3; ++i) x.r.answered(b.number, i, says({true}), t0 + 2s);
  const auto first = x.r.answered(b.number, 3, says({false}), t0 + 2s);
  const auto second = x.r.answered(b.number, 4, says({false}), t0 + 2s);
  ASSERT_EQ(first.repairs.size() + second.repairs.size(), 2U);
  x.r.repaired(first.repairs[0].number, false, t0 + 2s);
  x.r.repaired(second.repairs[0].number, true, t0 + 2s);
  EXPECT_EQ(x.r.nodes_of(h), node_set::all(5) - node_set::only(3));
}

TEST(renewal, a_repair_is_answered_once) {
  held_locks x(3);
  const handle h = x.add();
  const auto b = x.send(t0 + 2s);
  x.r.answered(b.number, 0, says({true}), t0 + 2s);
  x.r.answered(b.number, 1, says({true}), t0 + 2s);
  const auto s = x.r.answered(b.number, 2, says({false}), t0 + 2s);
  ASSERT_EQ(s.repairs.size(), 1U);
  x.r.repaired(s.repairs[0].number, false, t0 + 2s);
  x.r.repaired(s.repairs[0].number, true, t0 + 2s);
  EXPECT_FALSE(x.r.nodes_of(h).has(2));
}

}  // namespace
}  // namespace holdfast::core::redlock
