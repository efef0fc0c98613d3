#include "core/session_machine.hpp"
#include "core/start_fixture.hpp"

#include "gtest/gtest.h"

namespace holdfast::core {
namespace {

using namespace std::chrono_literals;

beat_reply proves(std::uint64_t attempt) {
  beat_reply r;
  r.what = status::ok;
  r.proves = attempt;
  return r;
}

struct session_machine_test : testing::Test {
  lease own;
  session_machine m{30s, own};
};

TEST_F(session_machine_test, counts_the_lease_from_sending) {
  m.opened(t0, t0 + 5s);
  EXPECT_EQ(own.until(), t0 + usable(30s));
}

TEST_F(session_machine_test, an_open_slower_than_the_lease_is_expired) {
  const auto s = m.opened(t0, t0 + 31s);
  EXPECT_EQ(m.state(), session_state::expired);
  EXPECT_TRUE(s.remove_record);
  EXPECT_TRUE(own.is_lost());
}

TEST_F(session_machine_test, beats_every_third_and_repeats_after_a_sixth) {
  EXPECT_EQ(m.opened(t0, t0).wake, t0 + 10s);
  EXPECT_EQ(m.tick(t0 + 10s).beat, 1u);
  EXPECT_FALSE(m.tick(t0 + 14s).beat);
  EXPECT_EQ(m.tick(t0 + 15s).beat, 2u);
  EXPECT_EQ(m.beat_answered(2, proves(2), t0 + 16s).wake, t0 + 25s);
}

TEST_F(session_machine_test, an_earlier_write_that_is_found_proves_only_its_own_send) {
  m.opened(t0, t0);
  m.tick(t0 + 10s);
  m.tick(t0 + 15s);
  m.beat_answered(2, proves(1), t0 + 16s);
  EXPECT_EQ(own.until(), t0 + 10s + usable(30s));
}

TEST_F(session_machine_test, is_endangered_when_a_beat_stays_unanswered_and_recovers) {
  m.opened(t0, t0);
  EXPECT_FALSE(m.tick(t0 + 10s).changed);
  m.tick(t0 + 15s);
  EXPECT_EQ(m.tick(t0 + 20s).changed->to, session_state::endangered);
  EXPECT_EQ(m.beat_answered(3, proves(3), t0 + 21s).changed->to, session_state::attached);
}

TEST_F(session_machine_test, expires_at_the_deadline_and_never_beats_again) {
  m.opened(t0, t0);
  const auto s = m.tick(t0 + usable(30s));
  EXPECT_EQ(s.changed->to, session_state::expired);
  EXPECT_TRUE(s.remove_record);
  const auto later = m.tick(t0 + 60s);
  EXPECT_FALSE(later.beat || later.changed || later.remove_record);
  EXPECT_EQ(later.wake, time_point::max());
}

TEST_F(session_machine_test, while_it_is_endangered_its_silence_is_told_until_now) {
  m.opened(t0, t0);
  for (const auto at : {10s, 15s, 20s}) m.tick(t0 + at, "a: down");
  EXPECT_EQ(m.reason(t0 + 29s), "no heartbeat was acknowledged for 29s of a ttl of 30s; a: down");
  m.beat_answered(3, proves(3), t0 + 29s);
  EXPECT_TRUE(m.reason(t0 + 29s).empty());
}

TEST_F(session_machine_test, its_end_is_told_with_what_is_wrong_with_the_store) {
  m.opened(t0, t0);
  m.tick(t0 + 10s);
  m.tick(t0 + 15s);
  EXPECT_EQ(m.tick(t0 + 20s + 3us, "a: down").changed->reason,
            "no heartbeat was acknowledged for 20s of a ttl of 30s; a: down");
  m.tick(t0 + 25s);
  EXPECT_TRUE(m.tick(t0 + usable(30s), "b: down").changed->reason.ends_with("; b: down"));
}

TEST_F(session_machine_test, its_end_is_told_with_what_its_beats_failed_with) {
  m.opened(t0, t0);
  m.tick(t0 + 10s);
  beat_reply full;
  full.what = status::unavailable;
  full.text = "the disk is full";
  m.beat_answered(1, full, t0 + 10s);
  EXPECT_TRUE(m.tick(t0 + 25s).changed->reason.ends_with("; the disk is full"));
  m.beat_answered(2, proves(2), t0 + 26s);
  EXPECT_EQ(m.tick(t0 + 25s + usable(30s)).changed->reason.find("the disk is full"),
            std::string::npos);
}

TEST_F(session_machine_test, its_end_is_told_with_how_long_this_process_stood_still) {
  m.opened(t0, t0);
  m.tick(t0 + 10s);
  m.beat_answered(1, proves(1), t0 + 10s);
  EXPECT_EQ(m.lateness(t0 + 24s), "") << "its wake was at 20 s";
  const std::string late =
      "this process was 35s late to act: it was stopped or suspended, had no CPU, was ending, or a "
      "callback or a local store kept its thread";
  EXPECT_EQ(m.lateness(t0 + 55s), late);
  EXPECT_EQ(m.tick(t0 + 55s, "a: down").changed->reason,
            "no heartbeat was acknowledged for 45s of a ttl of 30s; " + late + "; a: down");
  EXPECT_EQ(m.lateness(t0 + 90s), late) << "of what is over nothing is due";
}

TEST_F(session_machine_test, who_stood_still_and_was_heard_again_is_not_told_so) {
  m.opened(t0, t0);
  m.tick(t0 + 18s);
  EXPECT_NE(m.lateness(t0 + 18s), "") << "the beat that says otherwise is not answered yet";
  m.beat_answered(1, proves(1), t0 + 19s);
  EXPECT_EQ(m.lateness(t0 + 19s), "");
}

TEST_F(session_machine_test, who_stood_still_is_told_so_also_when_an_answer_comes_first) {
  m.opened(t0, t0);
  m.tick(t0 + 10s);
  m.beat_answered(1, proves(1), t0 + 24s);
  EXPECT_TRUE(m.lateness(t0 + 24s).starts_with("this process was 9s late"))
      << "its wake was at 15 s";
}

TEST_F(session_machine_test, who_stood_still_and_was_late_again_is_told_the_longer_one) {
  m.opened(t0, t0);
  m.tick(t0 + 10s);
  m.tick(t0 + 24s);
  m.tick(t0 + 30s - 500ms);
  EXPECT_TRUE(m.lateness(t0 + 30s - 500ms).starts_with("this process was 9s late"));
}

TEST_F(session_machine_test, an_answer_after_the_deadline_does_not_revive) {
  m.opened(t0, t0);
  m.tick(t0 + 10s);
  EXPECT_EQ(m.beat_answered(1, proves(1), t0 + 30s).changed->to, session_state::expired);
  EXPECT_TRUE(own.is_lost());
}

TEST_F(session_machine_test, a_lease_that_another_thread_found_over_ends_it_with_the_next_answer) {
  m.opened(t0, t0);
  m.tick(t0 + 10s);
  own.expire(t0 + 31s);
  beat_reply away;
  away.what = status::unavailable;
  const auto s = m.beat_answered(1, away, t0 + 31s);
  ASSERT_TRUE(s.changed);
  EXPECT_EQ(s.changed->to, session_state::expired);
  EXPECT_NE(s.changed->reason.find("for 31s of a ttl of 30s"), std::string::npos);
  EXPECT_TRUE(s.remove_record);
}

TEST_F(session_machine_test, a_denial_ends_it_and_leaves_the_record_until_it_is_closed) {
  m.opened(t0, t0);
  beat_reply r;
  r.what = status::denied;
  const auto s = m.beat_answered(1, r, t0 + 10s);
  EXPECT_EQ(s.changed->to, session_state::denied);
  EXPECT_FALSE(s.remove_record);
  const auto closed = m.close(t0 + 11s);
  EXPECT_FALSE(closed.changed);
  EXPECT_TRUE(closed.remove_record);
  EXPECT_EQ(m.state(), session_state::denied);
  EXPECT_FALSE(m.close(t0 + 12s).remove_record);
}

TEST_F(session_machine_test, what_is_closed_behind_its_deadline_has_expired) {
  m.opened(t0, t0);
  const auto s = m.close(own.until());
  ASSERT_TRUE(s.changed);
  EXPECT_EQ(s.changed->to, session_state::expired);
  EXPECT_NE(s.changed->reason.find("no heartbeat"), std::string::npos) << s.changed->reason;
  EXPECT_TRUE(s.remove_record);
}

TEST_F(session_machine_test, closing_loses_the_lease_first) {
  m.opened(t0, t0);
  EXPECT_TRUE(m.close(t0 + 1s).remove_record);
  EXPECT_TRUE(own.is_lost());
}

}  // namespace
}  // namespace holdfast::core
