#include "core/ledger.hpp"

#include "core/lease.hpp"

#include "gtest/gtest.h"

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
  EXPECT_EQ(l.beat({id_of(1), a.at.inc, 1}).what, status::ok);
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

}  // namespace
}  // namespace holdfast::core
