#include "core/redlock/rejoin.hpp"
#include "core/start_fixture.hpp"

#include "gtest/gtest.h"

#include <vector>

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;
using result = seal_reply::result;
using state = rejoin::state;

const time_point ready = t0 + 60s;

rejoin::config amnesiac(std::size_t nodes = 5, time_point when = ready) {
  rejoin::config c;
  c.nodes = nodes;
  c.node = 0;
  c.seen.nonce = "marker";
  c.run_id = "run2";
  c.ready = when;
  c.timeout = 50ms;
  c.seed = 3;
  return c;
}

std::vector<rejoin::other> others(std::size_t n, std::uint64_t epoch = 4) {
  std::vector<rejoin::other> all;
  for (node_index i = 1; i <= n; ++i) all.push_back({i, "n" + std::to_string(i), epoch});
  return all;
}

seal_reply sealed(std::uint64_t floor) { return {result::sealed, floor, 0}; }
seal_reply refused(std::uint64_t epoch) { return {result::refused, 0, epoch}; }

TEST(rejoin, waits_first_then_seals_all_others_in_an_epoch_above_all_seen) {
  rejoin r(amnesiac());
  EXPECT_TRUE(r.tick(others(4), t0).seals.empty());
  EXPECT_EQ(r.tick(others(4), ready - 1ns).wake, ready);
  auto known = others(4);
  known[2].epoch = 9;
  const auto s = r.tick(known, ready);
  ASSERT_EQ(s.seals.size(), 4U);
  for (const seal& x : s.seals) {
    EXPECT_EQ(x.epoch, 10U);
    EXPECT_EQ(x.target, 0U);
    EXPECT_EQ(x.nonce, "n" + std::to_string(x.node));
  }
}

TEST(rejoin, writes_the_largest_floor_by_compare_when_all_answered) {
  rejoin r(amnesiac());
  const auto s = r.tick(others(4), ready);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_FALSE(r.sealed(s.seals[k], sealed(100 - k), ready).record);
  }
  const auto w = r.sealed(s.seals[3], {}, ready);
  ASSERT_TRUE(w.record) << "three of four others are enough of five nodes";
  EXPECT_EQ(w.record->node, 0U);
  EXPECT_EQ(w.record->nonce_seen, "marker");
  EXPECT_EQ(w.record->epoch_seen, 0U);
  EXPECT_EQ(w.record->record.floor, 100U);
  EXPECT_EQ(w.record->record.epoch, 5U);
  EXPECT_EQ(w.record->record.run_id, "run2");
  EXPECT_EQ(w.record->record.nonce, "marker");
  r.written(write_reply::written, ready);
  EXPECT_EQ(r.current(), state::done);
}

TEST(rejoin, goes_on_at_the_node_timeout_with_enough_of_them) {
  rejoin r(amnesiac());
  const auto s = r.tick(others(4), ready);
  for (std::size_t k = 0; k < 3; ++k) r.sealed(s.seals[k], sealed(1), ready);
  EXPECT_FALSE(r.tick(others(4), ready + 49ms).record);
  EXPECT_TRUE(r.tick(others(4), ready + 50ms).record);
}

TEST(rejoin, waits_for_who_is_needed_up_to_the_limit_of_a_seal) {
  for (const bool answers : {true, false}) {
    rejoin r(amnesiac(3));
    auto s = r.tick(others(2), ready);
    const seal slow = s.seals[1];
    r.sealed(s.seals[0], sealed(1), ready);
    for (const duration d : {50ms, 60ms, 79ms, 1999ms}) {
      s = r.tick(others(2), ready + d);
      EXPECT_EQ(r.current(), state::sealing) << "no higher epoch";
      EXPECT_EQ(s.wake, ready + 2s);
    }
    if (answers) {
      EXPECT_TRUE(r.sealed(slow, sealed(1), ready + 1999ms).record);
      EXPECT_EQ(r.lacked(), 0U);
    } else {
      r.tick(others(2), ready + 2s);
      EXPECT_EQ(r.current(), state::pausing);
      EXPECT_EQ(r.lacked(), 1U);
    }
  }
}

TEST(rejoin, goes_on_with_the_first_late_answer_that_is_enough) {
  rejoin r(amnesiac());
  const auto s = r.tick(others(4), ready);
  for (std::size_t k = 0; k < 2; ++k) r.sealed(s.seals[k], sealed(1), ready);
  EXPECT_FALSE(r.tick(others(4), ready + 50ms).record);
  EXPECT_TRUE(r.sealed(s.seals[3], sealed(1), ready + 80ms).record);
}

TEST(rejoin, waits_for_nobody_who_changes_nothing) {
  rejoin r(amnesiac(3));
  const auto s = r.tick(others(2), ready);
  r.sealed(s.seals[0], refused(9), ready);
  EXPECT_EQ(r.current(), state::sealing);
  r.tick(others(2), ready + 50ms);
  EXPECT_EQ(r.current(), state::pausing);
  EXPECT_EQ(r.lacked(), 1U) << "who was overtaken had that answer";
}

TEST(rejoin, too_few_sealed_means_a_pause_and_a_higher_epoch) {
  rejoin r(amnesiac());
  auto s = r.tick(others(4), ready);
  r.sealed(s.seals[0], sealed(50), ready);
  r.sealed(s.seals[1], sealed(1), ready);
  r.sealed(s.seals[2], refused(20), ready);
  s = r.sealed(s.seals[3], {}, ready);
  EXPECT_FALSE(s.record);
  EXPECT_EQ(r.current(), state::pausing);
  ASSERT_GT(s.wake, ready);
  s = r.tick(others(4), s.wake);
  ASSERT_EQ(s.seals.size(), 4U);
  EXPECT_EQ(s.seals[0].epoch, 21U);
}

TEST(rejoin, an_answer_of_an_earlier_round_does_not_count) {
  rejoin r(amnesiac(3));
  const auto first = r.tick(others(2), ready);
  auto s = r.tick(others(2), ready + seal_limit(50ms));
  ASSERT_EQ(r.current(), state::pausing);
  const auto second = r.tick(others(2), s.wake);
  ASSERT_EQ(second.seals.size(), 2U);
  EXPECT_GT(second.seals[0].epoch, first.seals[0].epoch);
  r.sealed(first.seals[0], sealed(1), s.wake);
  r.sealed(second.seals[1], sealed(1), s.wake);
  EXPECT_EQ(r.current(), state::sealing);
  r.sealed(second.seals[1], sealed(1), s.wake);
  EXPECT_EQ(r.current(), state::sealing) << "one node counts once";
  EXPECT_TRUE(r.sealed(second.seals[0], sealed(1), s.wake).record);
}

TEST(rejoin, an_answer_to_a_rejoin_that_was_given_up_does_not_count_in_the_same_epoch) {
  rejoin before(amnesiac(3));
  const auto first = before.tick(others(2), ready);
  auto c = amnesiac(3, ready + 1s);
  c.rounds = 100;
  rejoin r(c);
  const auto second = r.tick(others(2), ready + 1s);
  ASSERT_EQ(second.seals.size(), 2U);
  ASSERT_EQ(second.seals[0].epoch, first.seals[0].epoch);
  for (const seal& x : first.seals) r.sealed(x, sealed(1), ready + 1s);
  EXPECT_EQ(r.current(), state::sealing) << "what it tells is from before the wait";
  for (const seal& x : second.seals) r.sealed(x, refused(x.epoch), ready + 1s);
  EXPECT_EQ(r.current(), state::pausing);
}

TEST(rejoin, of_three_nodes_needs_both_others) {
  rejoin r(amnesiac(3));
  const auto s = r.tick(others(1), ready);
  EXPECT_TRUE(s.seals.empty());
  EXPECT_EQ(r.tick(others(2), s.wake).seals.size(), 2U);
  rejoin alone(amnesiac(1));
  EXPECT_TRUE(alone.tick({}, ready).seals.empty()) << "nobody to learn from";
}

TEST(rejoin, of_a_durable_node_does_not_wait_and_keeps_its_own_floor) {
  auto c = amnesiac(3, time_point::min());
  c.seen.nonce = "n0";
  c.seen.epoch = 7;
  c.seen.floor = 500;
  c.durable = true;
  rejoin r(c);
  const auto s = r.tick(others(2), t0);
  ASSERT_EQ(s.seals.size(), 2U);
  EXPECT_EQ(s.seals[0].epoch, 8U);
  r.sealed(s.seals[0], sealed(3), t0);
  const auto w = r.sealed(s.seals[1], sealed(9), t0);
  ASSERT_TRUE(w.record);
  EXPECT_EQ(w.record->epoch_seen, 7U);
  EXPECT_EQ(w.record->record.floor, 500U);
  EXPECT_TRUE(w.record->record.durable);
}

TEST(rejoin, another_driver_that_was_first_ends_it) {
  rejoin r(amnesiac(3));
  const auto s = r.tick(others(2), ready);
  r.sealed(s.seals[0], sealed(3), ready);
  r.sealed(s.seals[1], sealed(9), ready);
  r.written(write_reply::changed, ready);
  EXPECT_EQ(r.current(), state::overtaken);
}

TEST(rejoin, a_write_without_an_answer_is_sent_again) {
  rejoin r(amnesiac(3));
  const auto s = r.tick(others(2), ready);
  r.sealed(s.seals[0], sealed(3), ready);
  const auto w = r.sealed(s.seals[1], sealed(9), ready);
  ASSERT_TRUE(w.record);
  EXPECT_FALSE(r.tick(others(2), ready + 10ms).record);
  EXPECT_TRUE(r.tick(others(2), w.wake).record);
  r.written(write_reply::failed, w.wake);
  EXPECT_EQ(r.current(), state::pausing);
}

/// Above an epoch there has to be another one, or nobody could be sealed any more.
TEST(rejoin, begins_no_epoch_that_nobody_would_believe) {
  rejoin above(amnesiac());
  EXPECT_TRUE(above.tick(others(4, believable), ready).seals.empty());
  EXPECT_EQ(above.current(), state::pausing);
  EXPECT_EQ(rejoin(amnesiac()).tick(others(4, believable - 1), ready).seals.size(), 4U);
  rejoin next(amnesiac());
  const auto seals = next.tick(others(4), ready).seals;
  for (const seal& x : seals) next.sealed(x, refused(believable + 1), ready);
  ASSERT_EQ(next.current(), state::pausing);
  const auto again = next.tick(others(4), ready + 1h).seals;
  ASSERT_EQ(again.size(), 4U) << "what was refused with is damage";
  EXPECT_EQ(again[0].epoch, 6U);
}

TEST(rejoin, who_tells_a_floor_that_is_damaged_does_not_count) {
  rejoin r(amnesiac());
  const auto seals = r.tick(others(4), ready).seals;
  r.sealed(seals[0], sealed(believable + 1), ready);
  r.sealed(seals[1], sealed(1), ready);
  EXPECT_EQ(r.sealed(seals[2], sealed(2), ready).record, std::nullopt);
  const auto last = r.sealed(seals[3], sealed(believable), ready);
  ASSERT_TRUE(last.record);
  EXPECT_EQ(last.record->record.floor, believable);
}

TEST(rejoin, who_was_not_sealed_for_it_does_not_count) {
  rejoin r(amnesiac());
  const auto seals = r.tick(others(3), ready).seals;
  ASSERT_EQ(seals.size(), 3U);
  seal stranger = seals[0];
  stranger.node = 4;
  r.sealed(stranger, sealed(1), ready);
  r.sealed(seals[0], sealed(1), ready);
  r.sealed(seals[1], sealed(1), ready);
  EXPECT_EQ(r.current(), state::sealing);
}

/// It has the epoch that it rejoins in, and none besides.
TEST(rejoin, who_stepped_and_was_sealed_for_keeps_no_epoch_of_before) {
  rejoin::config c = amnesiac();
  c.seen.kept_epoch = 4;
  rejoin r(c);
  rejoin::step last;
  for (const seal& x : r.tick(others(4), ready).seals) last = r.sealed(x, sealed(1), ready);
  ASSERT_TRUE(last.record);
  EXPECT_EQ(last.record->record.epoch, 5U);
  EXPECT_EQ(last.record->record.kept_epoch, 0U);
}

TEST(rejoin, a_late_answer_to_a_write_that_was_given_up_says_nothing) {
  rejoin r(amnesiac());
  for (const seal& x : r.tick(others(4), ready).seals) r.sealed(x, sealed(1), ready);
  ASSERT_EQ(r.current(), state::writing);
  r.written(write_reply::failed, ready);
  r.written(write_reply::written, ready);
  EXPECT_EQ(r.current(), state::pausing);
  // Nor does the first write delay the one of the next round.
  const time_point then = ready + 1h;
  rejoin::step last;
  for (const seal& x : r.tick(others(4), then).seals) last = r.sealed(x, sealed(1), then);
  EXPECT_TRUE(last.record);
}

TEST(rejoin, asks_to_be_woken_at_each_of_its_limits) {
  rejoin r(amnesiac());
  const auto begun = r.tick(others(4), ready);
  EXPECT_EQ(begun.wake, ready + 50ms);
  EXPECT_EQ(r.tick(others(4), ready + 50ms).wake, ready + seal_limit(50ms));
  const time_point then = ready + 60ms;
  rejoin::step written;
  for (const seal& x : begun.seals) {
    const auto s = r.sealed(x, sealed(1), then);
    if (s.record) written = s;
  }
  EXPECT_EQ(written.wake, then + 50ms);
  EXPECT_EQ(r.tick(others(4), then).wake, then + 50ms);
}

TEST(rejoin, a_longer_max_ttl_that_was_seen_once_stays) {
  rejoin r(amnesiac(3));
  r.allow(90s);
  r.allow(60s);
  const auto s = r.tick(others(2), ready);
  r.sealed(s.seals[0], sealed(1), ready);
  const auto w = r.sealed(s.seals[1], sealed(1), ready);
  ASSERT_TRUE(w.record);
  EXPECT_EQ(w.record->record.max_ttl, 90s);
}

TEST(rejoin, an_answer_puts_off_no_limit) {
  rejoin r(amnesiac());
  const auto s = r.tick(others(4), ready);
  EXPECT_EQ(s.wake, ready + 50ms);
  EXPECT_EQ(r.sealed(s.seals[0], sealed(1), ready + 1ms).wake, ready + 50ms);
}

}  // namespace
}  // namespace holdfast::core::redlock
