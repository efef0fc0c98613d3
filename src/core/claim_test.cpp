#include "core/claim_views_fixture.hpp"
#include "core/start_fixture.hpp"

#include "gtest/gtest.h"

namespace holdfast::core {
namespace {

using namespace std::chrono_literals;
using testing::answer;
using testing::is;
using testing::view;

claim::config config(bool waits, time_point give_up = time_point::max()) {
  claim::config c;
  c.waits = waits;
  c.give_up = give_up;
  return c;
}

struct claim_test : ::testing::Test {
  lease own{t0 + 1h};
  claim waiting{config(true), own};
  claim trying{config(false), own};
  const act::finish& end(const action& a) { return std::get<act::finish>(a); }
};

TEST_F(claim_test, a_free_name_is_granted_at_once) {
  waiting.start(t0);
  EXPECT_EQ(end(waiting.enqueued(view(status::ok, {7}), t0)).held, token{7});
}

TEST_F(claim_test, a_grant_after_the_lease_is_given_back) {
  waiting.start(t0);
  const auto a = waiting.enqueued(view(status::ok, {7}), t0 + 2h);
  EXPECT_FALSE(std::get<act::leave>(a).move_gate);
  EXPECT_EQ(end(waiting.left(answer<leave_reply>(status::ok), t0 + 2h)).why, errc::lost);
}

TEST_F(claim_test, a_try_breaks_the_dead_before_it_calls_anybody_busy) {
  trying.start(t0);
  auto a = trying.enqueued(view(status::busy, {}, 9), t0);
  const auto whom = std::get<act::probe>(a).whom;
  a = trying.probed({whom.at(0).owner}, t0);
  EXPECT_TRUE(std::get<act::take>(a).broken);
  a = trying.taken(whom[0].owner, answer<take_reply>(status::ok), t0);
  EXPECT_TRUE(std::get<act::enqueue>(a).leave_if_busy);
  trying.enqueued(view(status::busy, {}, 8), t0);
  EXPECT_EQ(end(trying.probed({}, t0)).why, errc::busy);
}

TEST_F(claim_test, the_dead_of_another_mode_are_in_nobodys_way) {
  for (claim* one : {&waiting, &trying}) {
    one->start(t0);
    auto a = one->enqueued(view(status::conflicting, {}, 9), t0);
    const auto whom = std::get<act::probe>(a).whom;
    a = one->probed({whom.at(0).owner}, t0);
    EXPECT_TRUE(std::get<act::take>(a).broken);
    a = one->taken(whom[0].owner, answer<take_reply>(status::ok), t0);
    ASSERT_TRUE(is<act::enqueue>(a));
    EXPECT_TRUE(end(one->enqueued(view(status::ok, {7}), t0)).granted);
  }
}

TEST_F(claim_test, who_hung_in_another_mode_is_told_as_such_until_the_ttl_has_passed) {
  auto conflict = view(status::conflicting, {}, 9);
  conflict.text = "it is used as shared";
  waiting.start(t0);
  waiting.enqueued(conflict, t0);
  const auto refused = end(waiting.probed({}, t0));
  EXPECT_EQ(refused.why, errc::mode_conflict);
  EXPECT_TRUE(refused.text.starts_with(conflict.text)) << refused.text;
  const auto due = *waiting.notes().next_due();
  claim later(config(true), own);
  later.recall(waiting.notes());
  later.start(due);
  later.enqueued(conflict, due);
  const auto a = later.probed({}, due);
  ASSERT_TRUE(is<act::take>(a));
  EXPECT_FALSE(std::get<act::take>(a).broken);
  // It lives: it beat since it was seen.
  const auto lives = later.taken(conflict.ahead[0].owner, answer<take_reply>(status::changed), due);
  EXPECT_EQ(end(lives).why, errc::mode_conflict);
}

TEST_F(claim_test, a_woken_waiter_confirms_before_it_holds) {
  waiting.start(t0);
  waiting.enqueued(view(status::queued, {7}, 9), t0);
  EXPECT_TRUE(std::holds_alternative<act::watch>(waiting.probed({}, t0)));
  EXPECT_TRUE(std::holds_alternative<act::confirm>(waiting.notified(t0)));
  EXPECT_EQ(end(waiting.confirmed(view(status::ok, {7}), t0)).held, token{7});
}

TEST_F(claim_test, after_a_hint_the_life_locks_are_looked_at_soon_and_then_more_slowly) {
  waiting.start(t0);
  waiting.enqueued(view(status::queued, {7}, 9), t0);
  waiting.probed({}, t0);
  EXPECT_EQ(waiting.wake(), t0 + 250ms);
  waiting.notified(t0);
  const auto again = waiting.confirmed(view(status::queued, {7}, 9), t0);
  waiting.probed({}, t0);
  auto now = t0;
  for (const auto pause : {1ms, 2ms, 4ms, 8ms, 16ms, 32ms, 64ms, 128ms, 250ms, 250ms}) {
    ASSERT_EQ(waiting.wake(), now + pause);
    now += pause;
    ASSERT_TRUE(is<act::probe>(waiting.tick(now)));
    waiting.probed({}, now);
  }
  waiting.tick(waiting.wake());
  const auto whom = std::get<act::probe>(again).whom;
  EXPECT_TRUE(std::get<act::take>(waiting.probed({whom.at(0).owner}, now + 250ms)).broken);
}

TEST_F(claim_test, a_silent_rival_is_taken_after_its_ttl_at_the_version_seen) {
  waiting.start(t0);
  waiting.enqueued(view(status::queued, {7}, 9), t0);
  waiting.probed({}, t0);
  for (const auto& [at, falls] : {std::pair{29s, false}, std::pair{31s, true}}) {
    waiting.notified(t0 + at);
    waiting.confirmed(view(status::queued, {7}, 9), t0 + at);
    EXPECT_EQ(is<act::take>(waiting.probed({}, t0 + at)), falls);
  }
}

TEST_F(claim_test, an_unknown_enqueue_of_a_try_moves_the_gate_and_is_then_certain) {
  trying.start(t0);
  const auto a = trying.enqueued(view(status::unknown), t0);
  EXPECT_TRUE(std::get<act::leave>(a).move_gate);
  EXPECT_EQ(end(trying.left(answer<leave_reply>(status::ok), t0)).why, errc::unavailable);
}

TEST_F(claim_test, an_unknown_enqueue_of_a_waiter_is_repeated_once_the_gate_has_moved) {
  waiting.start(t0);
  EXPECT_TRUE(std::get<act::leave>(waiting.enqueued(view(status::unknown), t0)).move_gate);
  EXPECT_TRUE(is<act::rest>(waiting.left(answer<leave_reply>(status::ok), t0)));
  EXPECT_TRUE(is<act::enqueue>(waiting.tick(waiting.wake())));
}

TEST_F(claim_test, an_unknown_enqueue_of_a_cancelled_waiter_ends_once_the_gate_has_moved) {
  waiting.start(t0);
  waiting.enqueued(view(status::unknown), t0);
  waiting.cancel();
  EXPECT_EQ(end(waiting.left(answer<leave_reply>(status::ok), t0)).why, errc::cancelled);
}

TEST_F(claim_test, an_unknown_enqueue_whose_leaves_stay_unanswered_is_outcome_unknown) {
  waiting.start(t0);
  action a = waiting.enqueued(view(status::unknown), t0);
  for (int sent = 0; sent < 4; ++sent) {
    EXPECT_TRUE(std::get<act::leave>(a).move_gate);
    a = waiting.left(answer<leave_reply>(status::unknown), t0);
    if (sent < 3) a = waiting.tick(waiting.wake());
  }
  EXPECT_EQ(end(a).why, errc::outcome_unknown);
}

TEST_F(claim_test, an_unanswered_leave_is_owed) {
  for (const status what : {status::unknown, status::unavailable, status::ok}) {
    claim c(config(true), own);
    c.start(t0);
    c.cancel();
    action a = c.enqueued(view(status::queued, {7}, 1), t0);
    while (is<act::leave>(a)) {
      a = c.left(answer<leave_reply>(what), t0);
      if (is<act::rest>(a)) a = c.tick(c.wake());
    }
    EXPECT_EQ(end(a).why, errc::cancelled);
    EXPECT_EQ(c.owes_leave(), what != status::ok);
  }
}

TEST_F(claim_test, a_limit_leaves_the_queue_and_times_out) {
  claim c{config(true, t0 + 1s), own};
  c.start(t0);
  c.enqueued(view(status::queued, {7}, 9), t0);
  c.probed({}, t0);
  EXPECT_TRUE(std::holds_alternative<act::leave>(c.tick(t0 + 1s)));
  EXPECT_EQ(end(c.left(answer<leave_reply>(status::ok), t0 + 1s)).why, errc::timed_out);
}

TEST_F(claim_test, a_cancel_during_an_enqueue_is_obeyed_with_its_reply) {
  waiting.start(t0);
  EXPECT_TRUE(std::holds_alternative<act::rest>(waiting.cancel()));
  EXPECT_TRUE(std::holds_alternative<act::leave>(waiting.enqueued(view(status::ok, {7}), t0)));
  EXPECT_EQ(end(waiting.left(answer<leave_reply>(status::ok), t0)).why, errc::cancelled);
}

TEST_F(claim_test, a_take_without_an_answer_is_tried_again_without_another_wait) {
  auto v = view(status::queued, {2}, 9);
  v.ahead[0].at = {.inc = 3, .beat = 4};
  waiting.start(t0);
  waiting.enqueued(v, t0);
  waiting.probed({}, t0);
  for (const duration after : {0s, 1s}) {
    const time_point now = t0 + takeover_after(30s) + after;
    waiting.notified(now);
    waiting.confirmed(v, now);
    const auto a = waiting.probed({}, now);
    ASSERT_TRUE(is<act::take>(a));
    EXPECT_EQ(std::get<act::take>(a).seen, v.ahead[0].at);
    waiting.taken(v.ahead[0].owner, answer<take_reply>(status::unavailable), now);
  }
}

TEST_F(claim_test, who_is_no_longer_ahead_is_not_taken) {
  waiting.start(t0);
  waiting.enqueued(view(status::queued, {2}, 9), t0);
  waiting.probed({}, t0);
  for (const duration after : {duration(20s), takeover_after(30s)}) {
    waiting.notified(t0 + after);
    waiting.confirmed(view(status::queued, {2}, 8), t0 + after);
    EXPECT_FALSE(is<act::take>(waiting.probed({}, t0 + after)));
  }
}

TEST_F(claim_test, whom_another_took_first_is_out_of_the_way_as_well) {
  waiting.start(t0);
  auto a = waiting.enqueued(view(status::queued, {2}, 9), t0);
  const session_id dead = std::get<act::probe>(a).whom.at(0).owner;
  waiting.probed({dead}, t0);
  EXPECT_TRUE(is<act::confirm>(waiting.taken(dead, answer<take_reply>(status::gone), t0)));
}

TEST_F(claim_test, who_was_cancelled_takes_nobody_and_asks_no_more) {
  for (claim* one : {&waiting, &trying}) {
    one->start(t0);
    auto a = one->enqueued(view(one == &waiting ? status::queued : status::busy, {2}, 9), t0);
    const session_id dead = std::get<act::probe>(a).whom.at(0).owner;
    if (one == &waiting) one->cancel();
    a = one->probed({dead}, t0);
    if (one == &waiting) {
      EXPECT_TRUE(is<act::leave>(a));
      continue;
    }
    one->cancel();
    EXPECT_EQ(end(one->taken(dead, answer<take_reply>(status::ok), t0)).why, errc::cancelled);
  }
}

TEST_F(claim_test, a_cancel_while_it_is_confirmed_leaves_the_queue) {
  waiting.start(t0);
  waiting.enqueued(view(status::queued, {2}, 9), t0);
  waiting.probed({}, t0);
  waiting.notified(t0);
  waiting.cancel();
  EXPECT_TRUE(is<act::leave>(waiting.confirmed(view(status::queued, {2}, 9), t0)));
}

TEST_F(claim_test, what_was_cancelled_is_told_as_such_when_its_limit_has_passed_too) {
  claim limited{config(true, t0 + 1s), own};
  limited.start(t0);
  limited.cancel();
  EXPECT_TRUE(is<act::leave>(limited.enqueued(view(status::queued, {2}, 9), t0 + 2s)));
  EXPECT_EQ(end(limited.left(answer<leave_reply>(status::ok), t0 + 2s)).why, errc::cancelled);
}

TEST_F(claim_test, whose_session_is_gone_enqueues_no_more) {
  for (const bool cancelled : {false, true}) {
    claim one{config(true), own};
    one.start(t0);
    ASSERT_TRUE(is<act::leave>(one.enqueued(view(status::unknown), t0)));
    if (cancelled) one.cancel();
    const auto a = one.left(answer<leave_reply>(status::gone), t0);
    ASSERT_TRUE(is<act::finish>(a)) << "there is no session to do that with";
    EXPECT_EQ(end(a).why, cancelled ? errc::cancelled : errc::unavailable);
  }
}

TEST_F(claim_test, a_store_whose_gate_moves_each_time_is_not_asked_for_ever) {
  action a = waiting.start(t0);
  for (int i = 0; i < 1000 && is<act::enqueue>(a); ++i) {
    a = waiting.enqueued(view(status::stale_gate), t0);
  }
  ASSERT_TRUE(is<act::finish>(a));
  EXPECT_EQ(end(a).why, errc::unavailable);
}

}  // namespace
}  // namespace holdfast::core
