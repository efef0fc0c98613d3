// Engines whose locks have leases of their own and which keep the queue to themselves (Redlock).
#include "core/claim_views_fixture.hpp"
#include "core/start_fixture.hpp"

#include "gtest/gtest.h"

namespace holdfast::core {
namespace {

using namespace std::chrono_literals;
using testing::answer;
using testing::is;
using testing::view;

queue_view granted_until(time_point until, token mine = {}) {
  auto v = view(status::ok, mine);
  v.own = std::make_shared<lease>(until);
  return v;
}

queue_view says(status what, const std::string& text) {
  auto v = view(what);
  v.text = text;
  return v;
}

struct claim_own_lease_test : ::testing::Test {
  lease session{t0 + 1h};
  claim waiting{{.waits = true, .give_up = t0 + 10min}, session};
  claim trying{{.waits = false}, session};
  const act::finish& end(const action& a) { return std::get<act::finish>(a); }

  /// At rest with nobody ahead.
  void queue_up(claim& c) {
    c.start(t0);
    EXPECT_TRUE(std::get<act::probe>(c.enqueued(view(status::queued), t0)).whom.empty());
    const auto a = c.probed({}, t0);
    ASSERT_TRUE(is<act::watch>(a));
    EXPECT_TRUE(std::get<act::watch>(a).targets.empty());
  }
};

TEST_F(claim_own_lease_test, a_grant_without_a_token_is_a_grant) {
  waiting.start(t0);
  const auto v = granted_until(t0 + 1s);
  const auto a = waiting.enqueued(v, t0);
  EXPECT_TRUE(end(a).granted);
  EXPECT_EQ(end(a).held, token{});
  EXPECT_EQ(end(a).own, v.own);
}

TEST_F(claim_own_lease_test, a_failure_is_not_a_grant) {
  trying.start(t0);
  EXPECT_FALSE(end(trying.enqueued(view(status::unavailable), t0)).granted);
}

TEST_F(claim_own_lease_test, a_grant_after_its_own_deadline_is_given_back_and_tried_again) {
  waiting.start(t0);
  const auto late = granted_until(t0 + 1s);
  EXPECT_TRUE(is<act::leave>(waiting.enqueued(late, t0 + 1s)));
  EXPECT_TRUE(late.own->is_lost());
  EXPECT_TRUE(is<act::rest>(waiting.left(answer<leave_reply>(status::ok), t0 + 1s)));
  EXPECT_TRUE(is<act::enqueue>(waiting.tick(waiting.wake())));
  EXPECT_TRUE(end(waiting.enqueued(granted_until(t0 + 9s), t0 + 2s)).granted);
}

TEST_F(claim_own_lease_test, a_try_that_is_granted_too_late_holds_nothing) {
  trying.start(t0);
  EXPECT_TRUE(is<act::leave>(trying.enqueued(granted_until(t0 + 1s), t0 + 1s)));
  const auto a = trying.left(answer<leave_reply>(status::ok), t0 + 1s);
  EXPECT_FALSE(end(a).granted);
  EXPECT_EQ(end(a).why, errc::unavailable);
}

TEST_F(claim_own_lease_test, its_own_lease_does_not_outlive_the_session) {
  waiting.start(t0);
  const auto v = granted_until(t0 + 3h);
  EXPECT_TRUE(is<act::leave>(waiting.enqueued(v, t0 + 2h)));
  EXPECT_TRUE(v.own->is_lost());
  EXPECT_EQ(end(waiting.left(answer<leave_reply>(status::ok), t0 + 2h)).why, errc::lost);
}

TEST_F(claim_own_lease_test, a_grant_that_comes_after_a_cancel_is_given_back_with_its_lease_lost) {
  waiting.start(t0);
  waiting.cancel();
  const auto v = granted_until(t0 + 1h);
  EXPECT_TRUE(is<act::leave>(waiting.enqueued(v, t0)));
  EXPECT_TRUE(v.own->is_lost());
  EXPECT_EQ(end(waiting.left(answer<leave_reply>(status::ok), t0)).why, errc::cancelled);
}

TEST_F(claim_own_lease_test, the_token_and_the_lease_of_a_waiter_come_with_the_confirmation) {
  queue_up(waiting);
  EXPECT_EQ(waiting.order(), token{});
  EXPECT_TRUE(is<act::confirm>(waiting.notified(t0)));
  const auto v = granted_until(t0 + 1h, {7});
  const auto a = waiting.confirmed(v, t0);
  EXPECT_TRUE(end(a).granted);
  EXPECT_EQ(end(a).held, token{7});
  EXPECT_EQ(end(a).own, v.own);
}

TEST_F(claim_own_lease_test, with_nobody_to_probe_a_poll_is_seldom_and_reads) {
  queue_up(waiting);
  for (int n = 1; n <= 3; ++n) {
    const auto now = waiting.wake();
    EXPECT_EQ(now, t0 + n * 4s);
    EXPECT_TRUE(is<act::rest>(waiting.tick(now - 1ns)));
    EXPECT_TRUE(is<act::confirm>(waiting.tick(now)));
    waiting.confirmed(view(status::queued), now);
    waiting.probed({}, now);
  }
}

TEST_F(claim_own_lease_test, with_nobody_to_probe_a_notification_brings_no_quick_polls) {
  queue_up(waiting);
  EXPECT_TRUE(is<act::confirm>(waiting.notified(t0)));
  waiting.confirmed(view(status::queued), t0);
  EXPECT_TRUE(is<act::watch>(waiting.probed({}, t0)));
  EXPECT_EQ(waiting.wake(), t0 + 4s);
}

TEST_F(claim_own_lease_test, a_read_that_failed_is_repeated_soon_but_not_at_once) {
  queue_up(waiting);
  waiting.notified(t0);
  auto now = t0;
  for (const auto pause : {10ms, 20ms, 40ms, 80ms, 160ms, 250ms, 250ms}) {
    EXPECT_TRUE(is<act::rest>(waiting.confirmed(view(status::unavailable), now)));
    ASSERT_EQ(waiting.wake(), now + pause);
    now += pause;
    ASSERT_TRUE(is<act::confirm>(waiting.tick(now)));
  }
}

TEST_F(claim_own_lease_test, a_limit_while_the_store_cannot_be_read_tells_why_it_cannot) {
  queue_up(waiting);
  waiting.notified(t0);
  waiting.confirmed(says(status::unavailable, "3 of 5 nodes refused"), t0);
  EXPECT_TRUE(is<act::leave>(waiting.tick(t0 + 10min)));
  const auto a = waiting.left(answer<leave_reply>(status::ok), t0 + 10min);
  EXPECT_EQ(end(a).why, errc::unavailable);
  EXPECT_EQ(end(a).text, "3 of 5 nodes refused");
}

TEST_F(claim_own_lease_test, a_limit_after_the_store_was_read_again_is_timed_out) {
  queue_up(waiting);
  waiting.notified(t0);
  waiting.confirmed(says(status::unavailable, "3 of 5 nodes refused"), t0);
  waiting.tick(waiting.wake());
  waiting.confirmed(says(status::queued, "held by the key's owner"), t0 + 1s);
  waiting.probed({}, t0 + 1s);
  EXPECT_TRUE(is<act::leave>(waiting.tick(t0 + 10min)));
  const auto a = waiting.left(answer<leave_reply>(status::ok), t0 + 10min);
  EXPECT_EQ(end(a).why, errc::timed_out);
  EXPECT_EQ(end(a).text, "held by the key's owner");
}

TEST_F(claim_own_lease_test, a_busy_try_without_a_known_holder_says_what_the_store_said) {
  trying.start(t0);
  trying.enqueued(says(status::busy, "3 of 5 nodes have it"), t0);
  const auto a = trying.probed({}, t0);
  EXPECT_EQ(end(a).why, errc::busy);
  EXPECT_EQ(end(a).text, "3 of 5 nodes have it");
}

TEST_F(claim_own_lease_test, a_waiter_without_an_order_leaves_when_it_ends) {
  queue_up(waiting);
  EXPECT_TRUE(waiting.queued());
  const auto a = waiting.cancel();
  ASSERT_TRUE(is<act::leave>(a));
  EXPECT_FALSE(std::get<act::leave>(a).move_gate);
  EXPECT_FALSE(waiting.queued());
  EXPECT_EQ(end(waiting.left(answer<leave_reply>(status::ok), t0)).why, errc::cancelled);

  claim other{{.waits = true, .give_up = t0 + 1s}, session};
  queue_up(other);
  EXPECT_TRUE(is<act::leave>(other.tick(t0 + 1s)));
}

TEST_F(claim_own_lease_test, only_an_enqueue_of_unknown_outcome_owes_the_gate) {
  for (const status what : {status::queued, status::unknown}) {
    claim c{{.waits = true}, session};
    c.start(t0);
    c.cancel();
    action a = c.enqueued(view(what), t0);
    while (is<act::leave>(a)) {
      a = c.left(answer<leave_reply>(status::unavailable), t0);
      if (is<act::rest>(a)) a = c.tick(c.wake());
    }
    EXPECT_TRUE(c.owes_leave());
    EXPECT_EQ(c.owes_gate(), what == status::unknown);
  }
}

TEST_F(claim_own_lease_test, what_cannot_be_done_as_asked_is_an_invalid_argument_with_its_reason) {
  waiting.start(t0);
  const auto a = waiting.enqueued(says(status::invalid, "the name begins with holdfast:"), t0);
  EXPECT_EQ(end(a).why, errc::invalid_argument);
  EXPECT_EQ(end(a).text, "the name begins with holdfast:");
}

}  // namespace
}  // namespace holdfast::core
