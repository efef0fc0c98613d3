#include "core/redlock/owed_release.hpp"
#include "core/start_fixture.hpp"

#include "gtest/gtest.h"

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;
using outcome = owed_release::outcome;

const owed_release::config settings{.ttl = 10s, .timeout = 50ms, .seed = 1};

owed_release of_three(std::uint64_t connection = 1) {
  owed_release r(settings, node_set::all(3), t0);
  for (node_index i = 0; i < 3; ++i) r.trace_of(i, {.connection = connection});
  return r;
}

TEST(owed_release, goes_to_every_node_that_is_connected_at_once) {
  owed_release r = of_three();
  const auto s = r.start(node_set::all(3) - node_set::only(1), t0);
  EXPECT_EQ(s.send, node_set::all(3) - node_set::only(1));
  EXPECT_EQ(s.wake, t0 + 10s) << "nothing to do before an answer";
  EXPECT_EQ(r.result(), outcome::pending);
}

TEST(owed_release, is_done_when_every_node_answered_on_the_connection_of_the_acquire) {
  owed_release r = of_three();
  r.start(node_set::all(3), t0);
  EXPECT_FALSE(r.answered(0, true, 1, t0).finished);
  EXPECT_FALSE(r.answered(1, false, 1, t0).finished) << "it was queued behind the acquire";
  EXPECT_TRUE(r.answered(2, true, 1, t0).finished);
  EXPECT_EQ(r.result(), outcome::released);
  EXPECT_FALSE(r.tick(t0 + 1h).finished) << "said once";
}

TEST(owed_release, not_there_on_another_connection_proves_nothing) {
  owed_release r = of_three();
  r.start(node_set::all(3), t0);
  r.disconnected(0, t0 + 1s);
  auto s = r.connected(0, t0 + 2s);
  EXPECT_EQ(s.send, node_set::only(0));
  s = r.answered(0, false, 2, t0 + 2s);
  EXPECT_TRUE(r.owed().has(0)) << "the old connection's acquire may still be read";
  EXPECT_LT(s.wake, t0 + 3s);
  EXPECT_EQ(r.tick(s.wake).send, node_set::only(0));
  r.answered(0, true, 2, t0 + 3s);
  EXPECT_FALSE(r.owed().has(0)) << "a value is sent once: deleted is certain";
}

TEST(owed_release, an_answered_acquire_cannot_come_late) {
  owed_release r = of_three();
  r.trace_of(0, {.connection = 1, .settled_before = true});
  r.start(node_set::all(3), t0);
  r.answered(0, false, 9, t0);
  EXPECT_FALSE(r.owed().has(0));
}

TEST(owed_release, an_error_is_repeated_with_growing_pauses_until_the_key_is_over) {
  owed_release r = of_three();
  auto s = r.start(node_set::only(0), t0);
  time_point at = t0;
  duration longest{};
  int sent = 1;
  for (; !s.finished; ++sent) {
    s = r.failed(0, at);
    ASSERT_GT(s.wake, at);
    longest = std::max(longest, s.wake - at);
    at = s.wake;
    s = r.tick(at);
    ASSERT_LT(sent, 100);
  }
  EXPECT_EQ(at, t0 + 10s);
  EXPECT_GT(sent, 5);
  EXPECT_GT(longest, 1s);
  EXPECT_EQ(r.result(), outcome::expires);
  EXPECT_TRUE(r.owed().has(0));
}

TEST(owed_release, what_a_node_could_not_run_goes_out_again_at_once) {
  owed_release r = of_three();
  r.start(node_set::all(3), t0);
  EXPECT_EQ(r.refused(0, t0 + 1ms).send, node_set::only(0));
  EXPECT_EQ(r.failed(0, t0 + 2ms).send, node_set{});
  r.disconnected(1, t0 + 3ms);
  EXPECT_EQ(r.refused(1, t0 + 3ms).send, node_set{}) << "not to one that went away";
}

TEST(owed_release, an_unreachable_node_stays_owed_until_sent_plus_ttl) {
  owed_release r = of_three();
  r.start({}, t0 + 9s);
  EXPECT_FALSE(r.tick(t0 + 10s - 1ns).finished);
  EXPECT_TRUE(r.tick(t0 + 10s).finished);
  EXPECT_EQ(r.result(), outcome::expires);
}

TEST(owed_release, a_silent_node_does_not_hold_up_the_others) {
  owed_release r = of_three();
  r.start(node_set::all(3), t0);
  const auto s = r.failed(0, t0 + 50ms);
  EXPECT_TRUE(s.send.empty());
  const auto again = r.tick(s.wake);
  EXPECT_EQ(again.send, node_set::only(0)) << "1 and 2 are still under way";
}

TEST(owed_release, of_no_node_is_finished_at_once) {
  owed_release r(settings, {}, t0);
  EXPECT_TRUE(r.start(node_set::all(3), t0).finished);
  EXPECT_EQ(r.result(), outcome::released);
}

TEST(owed_release, an_old_acquire_beside_a_repair_keeps_it_owed_whatever_is_answered) {
  owed_release o({.ttl = 10s, .timeout = 50ms, .seed = 1}, node_set::all(2), t0);
  o.trace_of(0, {.connection = 2, .settled_before = true, .late_until = t0 + 10s});
  o.trace_of(1, {.connection = 2});
  EXPECT_EQ(o.start(node_set::all(2), t0).send, node_set::all(2));
  o.answered(1, true, 2, t0);
  const auto s = o.answered(0, true, 2, t0);
  EXPECT_EQ(o.owed(), node_set::only(0)) << "the old acquire may bring it back";
  EXPECT_FALSE(s.finished);
  EXPECT_EQ(o.tick(s.wake).send, node_set::only(0));
  EXPECT_TRUE(o.answered(0, false, 2, t0 + 10s).finished) << "its ttl is over";
}

TEST(owed_release, an_acquire_that_is_older_than_a_ttl_is_none_that_may_come) {
  owed_release o({.ttl = 10s, .timeout = 50ms, .seed = 1}, node_set::all(2), t0 + 1h);
  for (const node_index i : {0, 1}) {
    o.trace_of(i, {.connection = 2, .settled_before = true, .late_until = t0 + 1h + 1s});
  }
  o.start(node_set::all(2), t0 + 1h);
  o.answered(0, true, 2, t0 + 1h);
  EXPECT_TRUE(o.owed().has(0));
  o.answered(1, true, 2, t0 + 1h + 1s);
  EXPECT_EQ(o.owed(), node_set::only(0)) << "a lock that was held for long is let go at once";
}

TEST(owed_release, nothing_is_repeated_before_its_pause_is_over) {
  owed_release r = of_three();
  r.start(node_set::all(3), t0);
  const auto s = r.failed(0, t0 + 1ms);
  ASSERT_GT(s.wake, t0 + 2ms);
  EXPECT_TRUE(r.tick(t0 + 2ms).send.empty());
  EXPECT_EQ(r.tick(s.wake).send, node_set::only(0));
}

TEST(owed_release, a_connection_ends_no_later_pause) {
  owed_release r = of_three();
  r.start(node_set::only(0), t0);
  const auto first = r.failed(0, t0 + 1ms);
  EXPECT_EQ(r.connected(0, t0 + 2ms).send, node_set::only(0));
  EXPECT_GT(r.failed(0, first.wake + 2ms).wake, first.wake + 2ms);
}

TEST(owed_release, what_is_settled_goes_out_on_no_connection_again) {
  owed_release r = of_three();
  r.start(node_set::all(3), t0);
  r.answered(0, true, 1, t0);
  r.disconnected(0, t0 + 1ms);
  EXPECT_TRUE(r.connected(0, t0 + 2ms).send.empty());
}

}  // namespace
}  // namespace holdfast::core::redlock
