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

}  // namespace
}  // namespace holdfast::core::redlock
