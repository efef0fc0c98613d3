#include "core/redlock/renewal_fixture.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;

TEST(renewal, the_limit_on_extensions_ends_with_the_last_of_them) {
  held_locks x(3);
  x.add(2);
  time_point sent = t0;
  for (int i = 0; i < 2; ++i) {
    sent += 2s;
    const auto b = x.send(sent);
    ASSERT_EQ(b.locks.size(), 1U);
    const auto again = x.send(sent + 1s);
    ASSERT_EQ(again.locks.size(), 1U) << "a repetition is no extension of its own";
    for (node_index n = 0; n < 3; ++n) x.r.answered(again.number, n, says({true}), sent + 1s);
    sent += 1s;
  }
  EXPECT_TRUE(x.send(sent + 2s).locks.empty());
  EXPECT_EQ(x.leases[0].until(), sent + usable(ttl));
  EXPECT_EQ(x.r.tick(sent + usable(ttl)).lost.size(), 1U);
}

TEST(renewal, a_lock_that_cannot_be_extended_costs_and_gives_others_no_extension) {
  held_locks x;
  const handle last = x.add(1);
  const handle more = x.add(9);
  const handle late = x.add_on(node_set::all(3));
  // Node 2 is silent, so that no majority ever extends the third one.
  const auto answer = [&](const renewal::batch& b, time_point at) {
    for (const node_index n : {0U, 1U, 3U, 4U}) {
      renewal::answer a;
      for (std::size_t k = 0; k < b.locks.size(); ++k) a.ours.set(k, n < 3 || b.locks[k] != late);
      x.r.answered(b.number, n, a, at);
    }
  };
  const auto first = x.send(t0 + 2s);
  EXPECT_EQ(first.locks, (std::vector{last, more, late}));
  answer(first, t0 + 2s);
  const auto again = x.send(t0 + 3s);
  EXPECT_EQ(again.locks, std::vector{late}) << "the others were extended a moment ago";
  answer(again, t0 + 3s);
  EXPECT_EQ(x.send(t0 + 4s).locks, (std::vector{more, late})) << "the first one is used up";
  EXPECT_EQ(x.leases[0].until(), t0 + 2s + usable(ttl));
}

TEST(renewal, a_lock_that_follows_another_in_its_place_begins_with_extensions_of_its_own) {
  held_locks x;
  const handle first = x.add(5);
  EXPECT_EQ(x.send(t0 + 2s).locks, std::vector{first});
  x.r.remove(first);
  const handle next = x.add(1);
  ASSERT_EQ(next.slot, first.slot);
  EXPECT_EQ(x.send(t0 + 3s).locks, std::vector{next});
  EXPECT_TRUE(x.r.is_used_up(next));
}

TEST(renewal, a_repetition_after_one_answer_is_no_extension_of_its_own) {
  held_locks x(3);
  const handle last = x.add(1);
  const auto b = x.send(t0 + 2s);
  x.r.answered(b.number, 0, says({true}), t0 + 2s);
  EXPECT_EQ(x.send(t0 + 3s).locks, std::vector{last});
}

TEST(renewal, a_loss_says_whether_the_limit_was_reached) {
  held_locks x(3);
  const handle last = x.add(1);
  const handle more = x.add(2);
  EXPECT_FALSE(x.r.is_used_up(last));
  const auto b = x.send(t0 + 2s);
  EXPECT_TRUE(x.r.is_used_up(last));
  EXPECT_FALSE(x.r.is_used_up(more));
  x.r.answered(b.number, 0, says({false, false}), t0 + 2s);
  const auto s = x.r.answered(b.number, 1, says({false, false}), t0 + 2s);
  ASSERT_EQ(s.lost.size(), 2U);
  for (const auto& l : s.lost) EXPECT_EQ(l.used_up, l.lock == last);
}

}  // namespace
}  // namespace holdfast::core::redlock
