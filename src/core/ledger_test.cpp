#include "core/ledger.hpp"

#include "core/lease.hpp"

#include "gtest/gtest.h"

#include <utility>

namespace holdfast::core {
namespace {

session_id id_of(std::uint8_t n) {
  session_id id;
  id.bytes[0] = n;
  return id;
}

open_reply open(ledger& l, std::uint8_t n) {
  open_request r;
  r.draft.id = id_of(n);
  r.draft.ttl = ttl_default;
  return l.open(r);
}

enqueue_request request(std::uint8_t n, const open_reply& s, mode how = mode::exclusive()) {
  enqueue_request r;
  r.name = lock_name("a");
  r.id = id_of(n);
  r.inc = s.at.inc;
  r.gate = s.gate;
  r.request = 1;
  r.how = how;
  return r;
}

TEST(ledger, grants_a_free_name_and_queues_the_next) {
  ledger l;
  const auto a = open(l, 1), b = open(l, 2);
  const auto first = l.enqueue(request(1, a));
  const auto second = l.enqueue(request(2, b));
  EXPECT_EQ(first.what, status::ok);
  EXPECT_EQ(second.what, status::queued);
  EXPECT_LT(first.mine, second.mine);
  ASSERT_EQ(second.ahead.size(), 1u);
  EXPECT_EQ(second.targets, std::vector{first.mine});
}

TEST(ledger, answers_a_repeated_enqueue_with_the_entry_that_is_there) {
  ledger l;
  const auto a = open(l, 1);
  EXPECT_EQ(l.enqueue(request(1, a)).mine, l.enqueue(request(1, a)).mine);
}

TEST(ledger, a_try_leaves_nothing_behind) {
  ledger l;
  const auto a = open(l, 1), b = open(l, 2);
  l.enqueue(request(1, a));
  auto r = request(2, b);
  r.leave_if_busy = true;
  EXPECT_EQ(l.enqueue(r).what, status::busy);
  EXPECT_EQ(l.list().locks.at(0).entries.size(), 1u);
}

TEST(ledger, an_enqueue_behind_a_moved_gate_does_not_apply) {
  ledger l;
  const auto a = open(l, 1);
  leave_request leave;
  leave.name = lock_name("a");
  leave.id = id_of(1);
  leave.inc = a.at.inc;
  leave.request = 1;
  leave.move_gate = true;
  EXPECT_EQ(l.leave(leave).what, status::ok);
  EXPECT_EQ(l.enqueue(request(1, a)).what, status::stale_gate);
  EXPECT_TRUE(l.list().locks.empty());
}

TEST(ledger, confirm_finds_only_ones_own_entry) {
  ledger l;
  const auto a = open(l, 1), b = open(l, 2);
  const auto held = l.enqueue(request(1, a));
  EXPECT_EQ(l.confirm({lock_name("a"), id_of(1), a.at.inc, held.mine}).what, status::ok);
  EXPECT_EQ(l.confirm({lock_name("a"), id_of(2), b.at.inc, held.mine}).what, status::gone);
}

TEST(ledger, a_moved_gate_is_a_new_revision) {
  ledger l;
  const auto a = open(l, 1);
  const auto before = l.list().revision;
  l.leave({lock_name("a"), id_of(1), a.at.inc, 1, {}, true});
  EXPECT_NE(l.list().revision, before);
}

TEST(ledger, a_take_at_an_older_version_changes_nothing) {
  ledger l;
  const auto a = open(l, 1);
  const auto beat = l.beat({id_of(1), a.at.inc, 7});
  EXPECT_EQ(beat.what, status::ok);
  EXPECT_EQ(beat.proves, 7U) << "its own attempt";
  EXPECT_EQ(l.take({id_of(1), a.at}).what, status::changed);
  EXPECT_EQ(l.list().sessions.size(), 1u);
}

TEST(ledger, a_beat_of_a_taken_session_fails_and_its_lock_is_free) {
  ledger l;
  const auto a = open(l, 1), b = open(l, 2);
  l.enqueue(request(1, a));
  EXPECT_EQ(l.take({id_of(1), a.at}).what, status::ok);
  EXPECT_EQ(l.beat({id_of(1), a.at.inc, 1}).what, status::gone);
  EXPECT_EQ(l.enqueue(request(2, b)).what, status::ok);
}

TEST(ledger, a_repeated_late_beat_never_brings_an_old_version_back) {
  ledger l;
  const auto a = open(l, 1);
  l.beat({id_of(1), a.at.inc, 1});
  const auto seen = l.list().sessions[0].at;
  l.beat({id_of(1), a.at.inc, 2});
  l.beat({id_of(1), a.at.inc, 1});
  EXPECT_NE(l.list().sessions[0].at, seen);
}

TEST(ledger, a_denied_session_may_not_beat_enqueue_or_open) {
  ledger l;
  const auto a = open(l, 1);
  EXPECT_FALSE(l.deny({id_of(1), "root", "test"}).already);
  EXPECT_TRUE(l.deny({id_of(1), "root", "test"}).already);
  EXPECT_EQ(l.beat({id_of(1), a.at.inc, 1}).what, status::denied);
  EXPECT_EQ(l.enqueue(request(1, a)).what, status::denied);
  EXPECT_EQ(open(l, 1).what, status::denied);
}

TEST(ledger, permits_must_agree) {
  ledger l;
  const auto a = open(l, 1), b = open(l, 2);
  EXPECT_EQ(l.enqueue(request(1, a, mode::permits(2))).what, status::ok);
  EXPECT_EQ(l.enqueue(request(2, b, mode::permits(3))).what, status::conflicting);
  EXPECT_EQ(l.enqueue(request(2, b)).what, status::conflicting);
  EXPECT_EQ(l.enqueue(request(2, b, mode::permits(2))).what, status::ok);
}

TEST(ledger, means_the_incarnation_of_a_session_that_is_named) {
  ledger l;
  const auto before = open(l, 1);
  l.close({id_of(1), before.at.inc});
  const auto now = open(l, 1);
  ASSERT_NE(now.at.inc, before.at.inc);
  const auto held = l.enqueue(request(1, now));
  EXPECT_EQ(l.beat({id_of(1), before.at.inc, 1}).what, status::gone);
  EXPECT_EQ(l.enqueue(request(1, before)).what, status::gone);
  EXPECT_EQ(l.confirm({lock_name("a"), id_of(1), before.at.inc, held.mine}).what, status::gone);
  EXPECT_EQ(l.leave({lock_name("a"), id_of(1), before.at.inc, 1}).what, status::gone);
  EXPECT_EQ(l.close({id_of(1), before.at.inc}).what, status::gone);
  EXPECT_EQ(l.confirm({lock_name("a"), id_of(1), now.at.inc, held.mine}).what, status::ok);
}

TEST(ledger, says_of_a_session_that_is_not_there_that_it_is_gone) {
  ledger l;
  EXPECT_EQ(l.beat({id_of(1), 1, 1}).what, status::gone);
  EXPECT_EQ(l.close({id_of(1), 1}).what, status::gone);
  EXPECT_EQ(l.take({id_of(1), {}}).what, status::gone);
  EXPECT_EQ(l.deny({id_of(1), "root", "test"}).what, status::gone);
  EXPECT_EQ(l.confirm({lock_name("a"), id_of(1), 1, token{1}}).what, status::gone);
  open_reply none;
  none.at.inc = 1;
  EXPECT_EQ(l.enqueue(request(1, none)).what, status::gone);
}

TEST(ledger, an_entry_is_the_same_only_of_one_session_and_request) {
  ledger l;
  const auto a = open(l, 1), b = open(l, 2);
  l.enqueue(request(1, a));
  auto another = request(1, a);
  another.request = 2;
  EXPECT_EQ(l.enqueue(another).what, status::queued) << "behind its own";
  EXPECT_EQ(l.enqueue(request(2, b)).ahead.size(), 2U);
}

TEST(ledger, a_leave_removes_its_own_entry_and_nothing_else) {
  ledger l;
  const auto a = open(l, 1), b = open(l, 2);
  const auto held = l.enqueue(request(1, a));
  auto second = request(1, a);
  second.request = 2;
  const auto own = l.enqueue(second);
  l.enqueue(request(2, b));
  const auto there = [&] { return l.list().locks.at(0).entries.size(); };
  l.leave({lock_name("a"), id_of(2), b.at.inc, 7, held.mine});
  l.leave({lock_name("a"), id_of(2), b.at.inc, 2});
  l.leave({lock_name("a"), id_of(1), a.at.inc + 1, 1});
  EXPECT_EQ(there(), 3U) << "of others, of no request, and of no session";
  const auto gate = l.leave({lock_name("a"), id_of(1), a.at.inc, 1, own.mine}).gate;
  EXPECT_EQ(gate, a.gate) << "it is moved only where that is asked for";
  EXPECT_EQ(there(), 2U);
  EXPECT_TRUE(l.alive(lock_name("a"), held.mine));
  EXPECT_FALSE(l.alive(lock_name("a"), own.mine));
  EXPECT_FALSE(l.alive(lock_name("b"), held.mine));
  l.leave({lock_name("a"), id_of(1), a.at.inc, 1});
  EXPECT_FALSE(l.alive(lock_name("a"), held.mine));
}

TEST(ledger, refusals_say_what_is_there) {
  ledger l;
  const auto a = open(l, 1);
  l.beat({id_of(1), a.at.inc, 1});
  EXPECT_EQ(l.take({id_of(1), a.at}).at, l.list().sessions[0].at);
  const auto moved = l.leave({lock_name("a"), id_of(1), a.at.inc, 1, {}, true});
  EXPECT_EQ(l.enqueue(request(1, a)).gate, moved.gate);
}

TEST(ledger, a_denied_session_may_not_confirm_and_keeps_the_first_reason) {
  ledger l;
  const auto a = open(l, 1);
  const auto held = l.enqueue(request(1, a));
  l.deny({id_of(1), "root", "first"});
  l.deny({id_of(1), "admin", "second"});
  EXPECT_EQ(l.confirm({lock_name("a"), id_of(1), a.at.inc, held.mine}).what, status::denied);
  EXPECT_EQ(l.list().sessions[0].denied_why, "first");
}

/// Whoever lists by pages begins anew when it is another.
TEST(ledger, each_change_is_a_new_revision) {
  ledger l;
  std::uint64_t last = l.list().revision;
  const auto is_new = [&] { return std::exchange(last, l.list().revision) != last; };
  const auto a = open(l, 1);
  EXPECT_TRUE(is_new());
  const auto held = l.enqueue(request(1, a));
  EXPECT_TRUE(is_new());
  l.beat({id_of(1), a.at.inc, 1});
  EXPECT_TRUE(is_new());
  l.deny({id_of(1), "root", "test"});
  EXPECT_TRUE(is_new());
  l.leave({lock_name("a"), id_of(1), a.at.inc, 1, held.mine});
  EXPECT_TRUE(is_new());
  l.close({id_of(1), a.at.inc});
  EXPECT_TRUE(is_new());
  l.list();
  EXPECT_FALSE(is_new());
}

}  // namespace
}  // namespace holdfast::core
