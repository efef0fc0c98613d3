#include "core/redlock/admission_fixture.hpp"

#include <gtest/gtest.h>

/// Clocks of servers that have no record, and may be the node that lost it or another server.

namespace holdfast::core::redlock {
namespace {

/// Node 0 is found without a record at `then`, and its clock is read as the program does.
admission::step found_empty(store& s, node_facts empty, server_time at, time_point then) {
  empty.record.reset();
  empty.asked = then;
  admission::step marks = s.a.looked_at(0, empty, s.fresh(), then);
  EXPECT_EQ(marks.writes.size(), 1U);
  s.serve(s.a.on_time(0, at, then, then + 1ms), then);
  return marks;
}

TEST(admission_empty, the_clock_of_an_empty_server_that_its_name_led_to_is_no_measure) {
  for (const bool written : {false, true}) {
    store s = a_watched_store();
    found_empty(s, healthy(7), clock_before + 500s, t0 + 10s);
    s.a.disconnected(0, t0 + 11s);
    // Somebody else may have written its record before the name led elsewhere.
    s.facts[0].record->last_time = clock_before + (written ? 5s : 0s);
    if (written) s.facts[0].record->nonce = "by another";
    s.connect(0, t0 + 12s);
    s.serve(s.a.on_time(0, clock_before + 12s, t0 + 12s, t0 + 12s + 1ms), t0 + 12s);
    EXPECT_TRUE(s.a.voters().has(0)) << written;
    EXPECT_TRUE(s.writes.empty()) << written;
    s.serve(s.a.on_time(0, clock_before + 99s, t0 + 13s, t0 + 13s + 1ms), t0 + 13s);
    EXPECT_EQ(s.a.standing_of(0), standing::waiting) << "now it steps";
  }
}

TEST(admission_empty, a_step_while_its_name_led_to_an_empty_server_is_seen) {
  store s = a_watched_store();
  found_empty(s, healthy(7), clock_before + 10s, t0 + 10s);
  s.a.disconnected(0, t0 + 11s);
  s.connect(0, t0 + 12s);
  s.serve(s.a.on_time(0, clock_before + 42s, t0 + 12s, t0 + 12s + 1ms), t0 + 12s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
}

TEST(admission_empty, an_empty_server_is_watched_from_before_its_record_is_written) {
  for (const bool same : {false, true}) {
    for (const bool early : {false, true}) {
      store s = a_watched_store();
      if (!same) s.facts[0] = healthy(7);
      s.facts[0].record.reset();
      const admission::step marks = found_empty(s, s.facts[0], clock_before + 500s, t0 + 10s);
      // Before the answer to the write comes, or after it; no look follows.
      const server_time stepped = clock_before + 501s + 20ms;
      if (early) s.serve(s.a.on_time(0, stepped - 1s, t0 + 10s, t0 + 10s + 1ms), t0 + 10s);
      s.serve(marks, t0 + 10s + 2ms);
      ASSERT_EQ(s.a.standing_of(0), standing::waiting);
      ASSERT_EQ(s.writes.size(), 1U);
      s.serve(s.a.on_time(0, stepped, t0 + 11s, t0 + 11s + 1ms), t0 + 11s);
      EXPECT_EQ(s.writes.size(), early ? 1U : 2U) << "nothing was granted before the record";
      s.serve(s.a.on_time(0, stepped + 1s + 20ms, t0 + 12s, t0 + 12s + 1ms), t0 + 12s);
      EXPECT_EQ(s.writes.size(), early ? 2U : 3U) << "each step is seen at the next look";
    }
  }
}

TEST(admission_empty, a_step_after_another_wrote_the_record_of_an_empty_server_is_seen) {
  for (const bool ours : {false, true}) {
    store s = a_watched_store();
    s.facts[0] = healthy(7);
    node_record theirs = *s.facts[0].record;
    s.facts[0].record.reset();
    const auto marks = found_empty(s, s.facts[0], clock_before + 500s, t0 + 10s);
    // Another client's loss follows on this one's, or came before it; 100 s later it stepped.
    if (ours) s.serve(marks, t0 + 10s);
    if (ours) theirs.id = s.facts[0].record->id;
    theirs.nonce = "by another";
    theirs.last_time = clock_before + 600s;
    s.facts[0].record = theirs;
    if (!ours) s.serve(marks, t0 + 110s);
    if (ours) s.connect(0, t0 + 111s);
    ASSERT_EQ(s.a.standing_of(0), standing::admitted);
    s.serve(s.a.on_time(0, clock_before + 601s, t0 + 111s, t0 + 111s + 1ms), t0 + 111s);
    ASSERT_EQ(s.a.standing_of(0), standing::admitted);
    s.serve(s.a.on_time(0, clock_before + 602s + 20ms, t0 + 112s, t0 + 112s + 1ms), t0 + 112s);
    EXPECT_EQ(s.a.standing_of(0), standing::waiting);
  }
}

TEST(admission_empty, a_step_between_the_record_of_another_and_its_first_look_is_seen) {
  store s = a_watched_store();
  s.facts[0] = healthy(7);
  s.facts[0].record.reset();
  s.serve(found_empty(s, s.facts[0], clock_before + 500s, t0 + 100s), t0 + 100s);
  // One that follows on its own, from when it was empty on: no more than 2 s can have passed.
  s.facts[0].record->nonce = "by another";
  s.facts[0].record->epoch = 4;
  s.facts[0].record->last_time = clock_before + 501s;
  s.connect(0, t0 + 102s);
  s.serve(s.a.on_time(0, clock_before + 550s, t0 + 102s, t0 + 102s + 1ms), t0 + 102s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
}

}  // namespace
}  // namespace holdfast::core::redlock
