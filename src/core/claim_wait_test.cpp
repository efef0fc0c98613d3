// How a waiter waits: polls, pauses after an enqueue that was not done, repeated leaves.
#include "core/claim_views_fixture.hpp"
#include "core/start_fixture.hpp"

#include "gtest/gtest.h"

#include <set>

namespace holdfast::core {
namespace {

using namespace std::chrono_literals;
using testing::answer;
using testing::is;
using testing::view;

struct claim_wait_test : ::testing::Test {
  lease own{t0 + 1h};
  claim waiting{{.waits = true, .give_up = t0 + 10min}, own};

  /// At rest behind rival 9.
  void queue_up(claim& c) {
    c.start(t0);
    c.enqueued(view(status::queued, {7}, 9), t0);
    ASSERT_TRUE(is<act::watch>(c.probed({}, t0)));
  }
  const act::finish& end(const action& a) { return std::get<act::finish>(a); }
};

TEST_F(claim_wait_test, a_poll_looks_at_life_locks_and_every_sixteenth_at_the_store) {
  queue_up(waiting);
  int reads = 0;
  for (int poll = 1; poll <= 48; ++poll) {
    const auto now = waiting.wake();
    const auto a = waiting.tick(now);
    if (is<act::confirm>(a)) {
      ++reads;
      EXPECT_EQ(poll % 16, 0);
      waiting.confirmed(view(status::queued, {7}, 9), now);
      EXPECT_TRUE(is<act::watch>(waiting.probed({}, now)));
    } else {
      EXPECT_EQ(std::get<act::probe>(a).whom.at(0).owner.bytes[0], 9);
      EXPECT_TRUE(is<act::rest>(waiting.probed({}, now))) << "the watch is still armed";
    }
  }
  EXPECT_EQ(reads, 3);
}

TEST_F(claim_wait_test, that_a_person_has_to_act_is_told_at_the_end) {
  auto v = view(status::unavailable);
  v.needs_operator = true;
  claim attempt{{}, own};
  attempt.start(t0);
  EXPECT_TRUE(end(attempt.enqueued(v, t0)).needs_operator) << "of a try";
  waiting.start(t0);
  waiting.enqueued(v, t0);
  EXPECT_TRUE(end(waiting.tick(t0 + 10min)).needs_operator) << "of a wait without a place";
  claim in_line{{.waits = true, .give_up = t0 + 10min}, own};
  queue_up(in_line);
  in_line.notified(t0);
  EXPECT_TRUE(end(in_line.confirmed(v, t0 + 10min)).needs_operator) << "of a place in the queue";
}

TEST_F(claim_wait_test, a_short_ttl_is_looked_at_within_a_quarter_of_it) {
  auto v = view(status::queued, {7}, 9);
  v.ahead[0].ttl = 2s;
  waiting.start(t0);
  waiting.enqueued(v, t0);
  ASSERT_TRUE(is<act::watch>(waiting.probed({}, t0)));
  // Its last heartbeat came just after the first read.
  v.ahead[0].at.beat = 1;
  bool taken = false;
  for (auto now = waiting.wake(); !taken && now <= t0 + free_after(2s); now = waiting.wake()) {
    auto next = waiting.tick(now);
    if (is<act::confirm>(next)) next = waiting.confirmed(v, now);
    if (is<act::probe>(next)) next = waiting.probed({}, now);
    taken = is<act::take>(next);
  }
  EXPECT_TRUE(taken);
}

TEST_F(claim_wait_test, who_is_far_behind_reads_the_queue_less_often) {
  auto v = view(status::queued, {1000}, 9);
  v.ahead[0].ttl = 1h;
  for (std::uint64_t i = 2; i <= 256; ++i) {
    session_id owner;
    owner.bytes[0] = 8;
    owner.bytes[1] = static_cast<std::uint8_t>(i);
    v.ahead.push_back({.order = token{i}, .owner = owner, .at = {}, .ttl = 1h, .where = {}});
  }
  waiting.start(t0);
  waiting.enqueued(v, t0);
  ASSERT_TRUE(is<act::watch>(waiting.probed({}, t0)));
  for (int poll = 1; poll < 64; ++poll) {
    const auto now = waiting.wake();
    ASSERT_TRUE(is<act::probe>(waiting.tick(now))) << poll;
    EXPECT_TRUE(is<act::rest>(waiting.probed({}, now)));
  }
  EXPECT_TRUE(is<act::confirm>(waiting.tick(waiting.wake())));
}

// Else thousands of waiters would each look, and one that has a reason to look would not.
TEST_F(claim_wait_test, only_a_poll_may_go_by_a_look_of_another_and_by_none_before_its_own_last) {
  waiting.start(t0);
  const auto arrival = waiting.enqueued(view(status::queued, {7}, 9), t0);
  EXPECT_EQ(std::get<act::probe>(arrival).age, 0ms);
  waiting.probed({}, t0);
  auto now = waiting.wake();
  EXPECT_EQ(std::get<act::probe>(waiting.tick(now)).age, 100ms);
  waiting.probed({}, now);
  waiting.notified(now);
  const auto again = waiting.confirmed(view(status::queued, {7}, 9), now);
  EXPECT_EQ(std::get<act::probe>(again).age, 0ms);
  for (const duration pace : {1ms, 2ms, 4ms}) {
    waiting.probed({}, now);
    EXPECT_EQ(waiting.wake(), now + pace);
    now = waiting.wake();
    EXPECT_EQ(std::get<act::probe>(waiting.tick(now)).age, pace * 2 / 5);
  }
}

TEST_F(claim_wait_test, a_poll_looks_only_at_the_rivals_it_watches) {
  waiting.start(t0);
  auto v = view(status::queued, {7}, 9);
  v.ahead.push_back({.order = token{2}, .owner = {}, .at = {}, .ttl = 30s, .where = {}});
  v.targets = {token{2}};
  EXPECT_EQ(std::get<act::probe>(waiting.enqueued(v, t0)).whom.size(), 2u);
  waiting.probed({}, t0);
  const auto a = waiting.tick(waiting.wake());
  ASSERT_EQ(std::get<act::probe>(a).whom.size(), 1u);
  EXPECT_EQ(std::get<act::probe>(a).whom[0].order, token{2});
}

TEST_F(claim_wait_test, polls_of_a_wide_semaphore_reach_every_watched_rival_in_turn) {
  waiting.start(t0);
  queue_view v = view(status::queued, {1000});
  for (std::uint64_t n = 1; n <= 300; ++n) {
    v.ahead.push_back({.order = token{n}, .owner = {}, .at = {}, .ttl = 30s, .where = {}});
    v.targets.push_back(token{n});
  }
  waiting.enqueued(v, t0);
  waiting.probed({}, t0);
  std::set<token> reached;
  for (int poll = 0; poll < 3; ++poll) {
    const auto now = waiting.wake();
    const auto a = waiting.tick(now);
    EXPECT_LE(std::get<act::probe>(a).whom.size(), 128u);
    for (const rival& r : std::get<act::probe>(a).whom) reached.insert(r.order);
    waiting.probed({}, now);
  }
  EXPECT_EQ(reached.size(), 300u);
}

TEST_F(claim_wait_test, a_poll_that_finds_a_death_takes_and_then_reads) {
  queue_up(waiting);
  const auto now = waiting.wake();
  const auto whom = std::get<act::probe>(waiting.tick(now)).whom;
  EXPECT_TRUE(std::get<act::take>(waiting.probed({whom[0].owner}, now)).broken);
  EXPECT_TRUE(is<act::confirm>(waiting.taken(whom[0].owner, answer<take_reply>(status::ok), now)));
}

TEST_F(claim_wait_test, takes_no_more_of_a_crowd_of_dead_once_its_time_is_up) {
  auto crowd = view(status::queued, {7});
  for (std::uint8_t i = 1; i <= 3; ++i) {
    const auto one = view(status::queued, {}, i).ahead.front();
    crowd.ahead.push_back(one);
    crowd.ahead.back().order = token{i};
  }
  crowd.targets = {token{3}};
  claim c{{.waits = true, .give_up = t0 + 1min}, own};
  c.start(t0);
  const auto whom = std::get<act::probe>(c.enqueued(crowd, t0)).whom;
  ASSERT_EQ(whom.size(), 3U);
  const auto first = c.probed({whom[0].owner, whom[1].owner, whom[2].owner}, t0);
  const auto late = t0 + 2min;
  const auto next = c.taken(std::get<act::take>(first).id, answer<take_reply>(status::ok), late);
  EXPECT_TRUE(is<act::confirm>(next)) << "it may be granted by now";
  EXPECT_TRUE(is<act::leave>(c.confirmed(crowd, late)));
}

TEST_F(claim_wait_test, a_notification_reads_at_once) {
  queue_up(waiting);
  EXPECT_TRUE(is<act::confirm>(waiting.notified(t0)));
}

TEST_F(claim_wait_test, a_due_takeover_reads_first) {
  queue_up(waiting);
  EXPECT_TRUE(is<act::confirm>(waiting.tick(t0 + takeover_after(30s))));
}

TEST_F(claim_wait_test, a_read_that_failed_is_repeated_by_the_next_poll) {
  queue_up(waiting);
  waiting.notified(t0);
  EXPECT_TRUE(is<act::rest>(waiting.confirmed(view(status::unavailable), t0)));
  EXPECT_EQ(waiting.wake(), t0 + 1ms);
  EXPECT_TRUE(is<act::confirm>(waiting.tick(waiting.wake())));
}

TEST_F(claim_wait_test, an_enqueue_that_was_not_done_is_repeated_after_growing_pauses) {
  auto now = t0;
  waiting.start(now);
  duration least = 5ms, most = 10ms;
  for (int n = 0; n < 100; ++n) {
    EXPECT_TRUE(is<act::rest>(waiting.enqueued(view(status::unavailable), now)));
    EXPECT_TRUE(waiting.at_rest());
    const duration pause = waiting.wake() - now;
    EXPECT_GE(pause, least);
    EXPECT_LE(pause, most);
    EXPECT_TRUE(is<act::rest>(waiting.tick(waiting.wake() - 1ns)));
    now = waiting.wake();
    EXPECT_TRUE(is<act::enqueue>(waiting.tick(now)));
    most = std::min<duration>(2 * most, 1s);
    least = most / 2;
  }
  EXPECT_EQ(end(waiting.enqueued(view(status::ok, {7}), now)).held, token{7});
}

TEST_F(claim_wait_test, pauses_of_two_claims_differ) {
  claim other{{.waits = true, .seed = 1}, own};
  waiting.start(t0);
  other.start(t0);
  waiting.enqueued(view(status::unavailable), t0);
  other.enqueued(view(status::unavailable), t0);
  EXPECT_NE(waiting.wake(), other.wake());
}

TEST_F(claim_wait_test, that_a_person_has_to_act_first_is_told_at_the_end) {
  auto barred = view(status::unavailable);
  barred.needs_operator = true;
  claim trying{{}, own};
  trying.start(t0);
  EXPECT_TRUE(end(trying.enqueued(barred, t0)).needs_operator);
  claim paused{{.waits = true, .give_up = t0 + 10min}, own};
  paused.start(t0);
  ASSERT_TRUE(is<act::rest>(paused.enqueued(barred, t0)));
  EXPECT_TRUE(end(paused.tick(t0 + 10min)).needs_operator);
  claim refused{{.waits = true}, own};
  refused.start(t0);
  auto no = view(status::not_initialised);
  no.needs_operator = true;
  EXPECT_TRUE(end(refused.enqueued(no, t0)).needs_operator);
  queue_up(waiting);
  ASSERT_TRUE(is<act::confirm>(waiting.notified(t0)));
  ASSERT_TRUE(is<act::rest>(waiting.confirmed(barred, t0))) << "the watch is still armed";
  ASSERT_TRUE(is<act::leave>(waiting.tick(t0 + 10min)));
  EXPECT_TRUE(end(waiting.left(answer<leave_reply>(status::ok), t0 + 10min)).needs_operator);
}

TEST_F(claim_wait_test, a_failure_that_passes_by_itself_needs_nobody) {
  queue_up(waiting);
  ASSERT_TRUE(is<act::confirm>(waiting.notified(t0)));
  ASSERT_TRUE(is<act::rest>(waiting.confirmed(view(status::unavailable), t0)));
  ASSERT_TRUE(is<act::leave>(waiting.tick(t0 + 10min)));
  EXPECT_FALSE(end(waiting.left(answer<leave_reply>(status::ok), t0 + 10min)).needs_operator);
}

TEST_F(claim_wait_test, a_limit_without_any_answer_is_unavailable_with_the_last_text) {
  waiting.start(t0);
  auto v = view(status::unavailable);
  v.text = "the store is full";
  waiting.enqueued(v, t0 + 10min - 1ms);
  EXPECT_EQ(waiting.wake(), t0 + 10min);
  const auto a = waiting.tick(t0 + 10min);
  EXPECT_EQ(end(a).why, errc::unavailable);
  EXPECT_EQ(end(a).text, "the store is full");
}

TEST_F(claim_wait_test, an_answer_after_the_limit_ends_without_a_pause) {
  waiting.start(t0);
  EXPECT_EQ(end(waiting.enqueued(view(status::unavailable), t0 + 10min)).why, errc::unavailable);
}

TEST_F(claim_wait_test, a_cancel_ends_a_pause_at_once) {
  waiting.start(t0);
  waiting.enqueued(view(status::unavailable), t0);
  EXPECT_TRUE(is<act::rest>(waiting.notified(t0)));
  EXPECT_GT(waiting.wake(), t0) << "a stray notification must not make it spin";
  EXPECT_EQ(end(waiting.cancel()).why, errc::cancelled);
}

TEST_F(claim_wait_test, a_cancel_before_the_refusal_wins_over_it) {
  waiting.start(t0);
  waiting.cancel();
  EXPECT_EQ(end(waiting.enqueued(view(status::unavailable), t0)).why, errc::cancelled);
}

TEST_F(claim_wait_test, a_try_that_was_not_done_ends_at_once) {
  claim trying{{.waits = false}, own};
  trying.start(t0);
  EXPECT_EQ(end(trying.enqueued(view(status::unavailable), t0)).why, errc::unavailable);
}

TEST_F(claim_wait_test, an_unanswered_leave_is_repeated_three_times) {
  waiting.start(t0);
  auto now = t0;
  action a = waiting.enqueued(view(status::unknown), now);
  for (int sent = 1; sent <= 4; ++sent) {
    ASSERT_TRUE(is<act::leave>(a)) << sent;
    a = waiting.left(answer<leave_reply>(status::unavailable), now);
    if (sent == 4) break;
    EXPECT_TRUE(is<act::rest>(a) && waiting.at_rest());
    EXPECT_GT(waiting.wake(), now);
    now = waiting.wake();
    a = waiting.tick(now);
  }
  EXPECT_EQ(end(a).why, errc::outcome_unknown);
}

TEST_F(claim_wait_test, a_repeated_leave_that_is_answered_lets_it_enqueue_again) {
  waiting.start(t0);
  waiting.enqueued(view(status::unknown), t0);
  waiting.left(answer<leave_reply>(status::unknown), t0);
  EXPECT_TRUE(is<act::leave>(waiting.tick(waiting.wake())));
  EXPECT_TRUE(is<act::rest>(waiting.left(answer<leave_reply>(status::ok), t0)));
  EXPECT_TRUE(is<act::enqueue>(waiting.tick(waiting.wake())));
}

TEST_F(claim_wait_test, an_unanswered_enqueue_ends_it_when_its_time_is_up) {
  for (const bool cancelled : {false, true}) {
    claim c{{.waits = true, .give_up = t0 + 10min}, own};
    c.start(t0);
    if (cancelled) c.cancel();
    const auto now = cancelled ? t0 : t0 + 10min;
    EXPECT_EQ(end(c.enqueued(view(status::unknown), now)).why, errc::outcome_unknown);
    EXPECT_TRUE(c.owes_leave() && c.owes_gate() && c.leave_unsent());
  }
}

TEST_F(claim_wait_test, an_unanswered_read_ends_it_when_its_time_is_up) {
  for (const bool cancelled : {false, true}) {
    claim c{{.waits = true, .give_up = t0 + 10min}, own};
    queue_up(c);
    c.notified(t0);
    if (cancelled) c.cancel();
    const auto a = c.confirmed(view(status::unknown), cancelled ? t0 : t0 + 10min);
    EXPECT_EQ(end(a).why, cancelled ? errc::cancelled : errc::unavailable);
    EXPECT_TRUE(c.owes_leave() && !c.owes_gate() && c.leave_unsent());
  }
}

TEST_F(claim_wait_test, an_unanswered_take_ends_it_when_its_time_is_up) {
  for (const bool cancelled : {false, true}) {
    claim c{{.waits = true, .give_up = t0 + 10min}, own};
    c.start(t0);
    const auto dead = std::get<act::probe>(c.enqueued(view(status::queued, {7}, 9), t0)).whom[0];
    c.probed({dead.owner}, t0);
    if (cancelled) c.cancel();
    const auto now = cancelled ? t0 : t0 + 10min;
    const auto a = c.taken(dead.owner, answer<take_reply>(status::unknown), now);
    EXPECT_EQ(end(a).why, cancelled ? errc::cancelled : errc::timed_out);
    EXPECT_TRUE(c.owes_leave() && !c.owes_gate() && c.leave_unsent());
  }
}

TEST_F(claim_wait_test, an_unanswered_leave_is_not_repeated_when_its_time_is_up) {
  for (const bool cancelled : {false, true}) {
    claim c{{.waits = true, .give_up = t0 + 10min}, own};
    queue_up(c);
    ASSERT_TRUE(is<act::leave>(cancelled ? c.cancel() : c.tick(t0 + 10min)));
    const auto a = c.left(answer<leave_reply>(status::unknown), cancelled ? t0 : t0 + 10min);
    EXPECT_EQ(end(a).why, cancelled ? errc::cancelled : errc::timed_out);
    EXPECT_TRUE(c.owes_leave() && !c.owes_gate() && !c.leave_unsent());
  }
}

TEST_F(claim_wait_test, a_leave_asks_who_has_it_where_no_view_has_told) {
  session_record holder;
  holder.owner.host = "h";
  holder.owner.pid = 7;
  holder.owner.program = "night\nly";
  leave_reply gone = answer<leave_reply>(status::ok);
  gone.first = std::make_shared<const session_record>(holder);
  const auto asks = [](const action& a) { return std::get<act::leave>(a).asks_who; };
  // Of a store that shows no queue.
  claim limited{{.waits = true, .give_up = t0 + 10min}, own};
  limited.start(t0);
  limited.enqueued(view(status::queued), t0);
  limited.probed({}, t0);
  EXPECT_TRUE(asks(limited.tick(t0 + 10min)));
  EXPECT_EQ(end(limited.left(gone, t0 + 10min)).text, "held by night\\x0aly (pid 7 on host h)");

  claim cancelled{{.waits = true, .give_up = t0 + 10min}, own};
  cancelled.start(t0);
  cancelled.enqueued(view(status::queued), t0);
  cancelled.probed({}, t0);
  EXPECT_FALSE(asks(cancelled.cancel())) << "the caller does not wait for that";

  auto shown = view(status::queued, {7}, 9);
  shown.first = gone.first;
  waiting.start(t0);
  waiting.enqueued(shown, t0);
  waiting.probed({}, t0);
  EXPECT_FALSE(asks(waiting.tick(t0 + 10min))) << "the view has told";
}

TEST_F(claim_wait_test, a_pause_between_leaves_ends_when_its_time_is_up) {
  for (const bool cancelled : {false, true}) {
    claim c{{.waits = true, .give_up = t0 + 1ms}, own};
    c.start(t0);
    ASSERT_TRUE(is<act::leave>(c.enqueued(view(status::unknown), t0)));
    c.left(answer<leave_reply>(status::unknown), t0);
    ASSERT_EQ(c.wake(), t0 + 1ms);
    EXPECT_EQ(end(cancelled ? c.cancel() : c.tick(t0 + 1ms)).why, errc::outcome_unknown);
    EXPECT_TRUE(c.owes_leave() && c.owes_gate());
  }
}

TEST_F(claim_wait_test, nothing_is_repeated_for_a_session_that_is_over) {
  waiting.start(t0);
  waiting.enqueued(view(status::unknown), t0);
  waiting.left(answer<leave_reply>(status::unavailable), t0);
  EXPECT_EQ(end(waiting.session_over(errc::lost, "over")).why, errc::outcome_unknown);

  claim other{{.waits = true}, own};
  queue_up(other);
  EXPECT_TRUE(is<act::leave>(other.session_over(errc::lost, "over")));
  EXPECT_EQ(end(other.left(answer<leave_reply>(status::unavailable), t0)).why, errc::lost);
}

}  // namespace
}  // namespace holdfast::core
