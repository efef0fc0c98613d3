#include "core/redlock/admission_fixture.hpp"

#include <gtest/gtest.h>

/// Nodes whose clocks step, or were set back.

namespace holdfast::core::redlock {
namespace {

TEST(admission_clock, a_clock_step_puts_the_node_out_like_a_restart) {
  store s = a_watched_store();
  EXPECT_EQ(s.a.voters().size(), 3U);
  s.serve(s.a.on_time(0, clock_before + 3600s, t0 + 1s, t0 + 1s + 1ms), t0 + 1s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
  EXPECT_EQ(s.facts[0].record->floor, 100U) << "it lost no counters";
  s.come_back(t0 + 1s + 1ms + wait);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted);
  // The name that this connection had to give is used; the next step still puts it out.
  const time_point t1 = t0 + 100s;
  s.serve(s.a.on_time(0, clock_before + 3600s + 99s, t1, t1 + 1ms), t1);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted);
  s.serve(s.a.on_time(0, clock_before, t1 + 1s, t1 + 1s + 1ms), t1 + 1s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
}

TEST(admission_clock, a_clock_step_across_a_restart_is_seen) {
  store s;
  for (auto& f : s.facts) f.durable = f.record->durable = true;
  s.connect_all(t0);
  s.serve(s.a.on_time(0, clock_before, t0, t0 + 1ms), t0);
  s.a.disconnected(0, t0 + 1s);
  s.facts[0].run_id = "run9";
  s.connect(0, t0 + 2s);
  ASSERT_EQ(s.a.voters().size(), 3U) << "its locks are there";
  s.serve(s.a.on_time(0, clock_before + 3600s, t0 + 2s, t0 + 2s + 1ms), t0 + 2s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting) << "and have ended early";
}

TEST(admission_clock, a_clock_step_is_remembered_until_it_is_recorded) {
  store s = a_watched_store();
  // Somebody's seal comes before the write, which then finds another epoch.
  s.facts[0].record->epoch = 4;
  s.serve(s.a.on_time(0, clock_before + 3600s, t0 + 1s, t0 + 1s + 1ms), t0 + 1s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting) << "looked at again, and then recorded";
  EXPECT_EQ(s.writes.size(), 2U);
}

TEST(admission_clock, a_clock_step_of_a_node_that_is_away_counts_when_it_is_back) {
  store s = a_watched_store();
  s.a.doubted(0, t0 + 1s);
  // The answer to an earlier request comes before the node was looked at.
  s.serve(s.a.on_time(0, clock_before + 3600s, t0 + 1s, t0 + 1s + 1ms), t0 + 1s);
  s.connect(0, t0 + 1s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
}

TEST(admission_clock, the_clock_of_the_server_that_was_under_its_name_before_is_no_measure) {
  store s(5);
  for (auto& f : s.facts) f.record->last_time = clock_before - 600s;
  const node_facts own = s.facts[0];
  // Its name leads to the server of node 1 when this client begins, and is corrected then.
  s.facts[0] = s.facts[1];
  s.connect(0, t0);
  ASSERT_EQ(s.a.standing_of(0), standing::admitted);
  s.serve(s.a.on_time(0, clock_before + 50ms, t0, t0 + 1ms), t0);
  s.a.disconnected(0, t0 + 5s);
  s.facts[0] = own;
  s.connect(0, t0 + 5s);
  s.serve(s.a.on_time(0, clock_before + 5s, t0 + 5s, t0 + 5s + 1ms), t0 + 5s);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted) << "its record is old, and its clock is right";
  EXPECT_TRUE(s.writes.empty());
  s.serve(s.a.on_time(0, clock_before + 3600s, t0 + 6s, t0 + 6s + 1ms), t0 + 6s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting) << "now it steps";
}

TEST(admission_clock, a_record_from_before_this_host_was_up_is_no_step) {
  store s(1);
  s.facts[0].durable = s.facts[0].record->durable = true;
  s.facts[0].record->last_time =
      clock_before - std::chrono::duration_cast<server_time>(2 * t0.time_since_epoch());
  // The clocks are read each second, also between connecting and the first look.
  s.serve(s.a.on_time(0, clock_before, t0, t0 + 1ms), t0);
  s.facts[0].run_id = "run9";
  s.connect(0, t0 + 1s);
  s.serve(s.a.on_time(0, clock_before + 1s, t0 + 1s, t0 + 1s + 1ms), t0 + 1s);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted) << "it has all that it granted";
}

TEST(admission_clock, a_clock_that_is_read_before_the_server_was_looked_at_is_not_compared) {
  store s(5);
  s.connect_all(t0);
  s.serve(s.a.on_time(0, clock_before, t0, t0 + 1ms), t0);
  s.a.disconnected(0, t0 + 1s);
  // Its name leads to the server of node 1, and back before that was looked at.
  const server_time other = clock_before + 3600s;
  s.serve(s.a.on_time(0, other, t0 + 2s, t0 + 2s + 1ms), t0 + 2s);
  s.a.disconnected(0, t0 + 3s);
  s.connect(0, t0 + 4s);
  s.serve(s.a.on_time(0, clock_before + 4s, t0 + 4s, t0 + 4s + 1ms), t0 + 4s);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted);
  EXPECT_TRUE(s.writes.empty());
  // Nor is a step that it made meanwhile missed: it is compared with what was read before.
  s.a.disconnected(0, t0 + 5s);
  s.serve(s.a.on_time(0, other + 1s, t0 + 6s, t0 + 6s + 1ms), t0 + 6s);
  s.connect(0, t0 + 6s);
  s.serve(s.a.on_time(0, other + 1s, t0 + 6s, t0 + 6s + 1ms), t0 + 6s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
}

TEST(admission_clock, a_clock_step_that_somebody_else_recorded_is_not_recorded_again) {
  store s = a_watched_store();
  s.a.disconnected(0, t0 + 1s);
  // Meanwhile its clock stepped, another client saw it, waited, and brought it back.
  s.facts[0].record->nonce = "by another";
  s.facts[0].record->epoch = 4;
  s.facts[0].record->last_time = clock_before + 3600s + 150s;
  s.connect(0, t0 + 200s);
  s.serve(s.a.on_time(0, clock_before + 3800s, t0 + 200s, t0 + 200s + 1ms), t0 + 200s);
  EXPECT_TRUE(s.writes.empty()) << "a second loss of the same step, perhaps that of a majority";
  s.serve(s.a.on_time(0, clock_before + 9999s, t0 + 201s, t0 + 201s + 1ms), t0 + 201s);
  EXPECT_EQ(s.writes.size(), 1U) << "the next step is another";
}

TEST(admission_clock, a_clock_step_after_the_recorded_one_is_seen_at_the_first_look) {
  store s = a_watched_store();
  s.a.disconnected(0, t0 + 1s);
  s.facts[0].record->nonce = "by another";
  s.facts[0].record->last_time = clock_before + 150s;
  s.connect(0, t0 + 200s);
  s.serve(s.a.on_time(0, clock_before + 3800s, t0 + 200s, t0 + 200s + 1ms), t0 + 200s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
}

/// Looks at three nodes once a second, and node 0 is ahead by `step` from second `at` on.
standing after_a_step(duration longest, duration step, int at) {
  store s(3, true, longest);
  for (auto& f : s.facts) f.record->max_ttl = longest;
  s.connect_all(t0);
  for (int second = 0; second <= at; ++second) {
    const time_point now = t0 + std::chrono::seconds(second);
    for (node_index i = 0; i < 3; ++i) {
      const bool ahead = i == 0 && second == at;
      const auto moved = std::chrono::seconds(second) + (ahead ? step : duration{});
      const auto is = clock_before + std::chrono::duration_cast<server_time>(moved);
      s.serve(s.a.on_time(i, is, now, now + 500us), now);
    }
  }
  return s.a.standing_of(0);
}

TEST(admission_clock, a_small_step_is_seen_at_the_next_look_whatever_max_ttl_is) {
  for (const duration longest : {duration(1s), duration(10s), duration(60s), duration(1h)}) {
    for (const int at : {1, 2, 8, 9, 17, 500, 3700}) {
      EXPECT_EQ(after_a_step(longest, 13ms, at), standing::waiting) << at;
    }
    EXPECT_EQ(after_a_step(longest, 9ms, 8), standing::admitted) << "that may be drift";
  }
}

TEST(admission_clock, small_steps_within_a_lease_are_seen_also_where_the_url_allows_shorter_ones) {
  store s(3, true, 1s);
  s.connect_all(t0);
  // 0.2 ms a second above rho: within the margin for some seconds, and not for a minute.
  for (int second = 0; second < 60; ++second) {
    const time_point now = t0 + std::chrono::seconds(second);
    s.serve(s.a.on_time(0, clock_before + second * 1'010'200us, now, now), now);
  }
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
}

TEST(admission_clock, with_tokens_off_a_clock_step_waits) {
  store s(1, false);
  s.connect_all(t0);
  s.tick(t0 + wait);
  const time_point began = t0 + wait;
  s.a.on_time(0, server_time{0}, began, began + 1ms);
  ASSERT_EQ(s.a.voters().size(), 1U);
  s.a.on_time(0, 3600s, began + 1s, began + 1s);
  EXPECT_TRUE(s.a.voters().empty());
  EXPECT_EQ(s.a.explain(0, began + 2s).find("assume_fresh"), std::string::npos) << "no help here";
  s.connect(0, began + 2s);
  EXPECT_TRUE(s.a.voters().empty()) << "a reconnection does not forget it";
  s.tick(began + 1s + wait);
  EXPECT_EQ(s.a.voters().size(), 1U);
}

TEST(admission_clock, a_node_whose_clock_was_set_back_is_not_asked_until_it_is_there_again) {
  store s(3);
  for (auto& f : s.facts) f.record->last_time = f.at = server_time{2h};
  s.facts[0].at = server_time{1h};
  s.connect_all(t0);
  EXPECT_EQ(s.a.standing_of(0), standing::behind);
  EXPECT_EQ(s.a.voters().size(), 2U);
  EXPECT_TRUE(s.writes.empty()) << "it has lost nothing";
  EXPECT_EQ(s.a.explain(0, t0),
            "has its clock 1h behind the newest time that it recorded, and "
            "grants nothing until it is there again");
  EXPECT_EQ(s.wake, t0 + 1s) << "somebody may set it right";
  EXPECT_TRUE(s.a.tick(t0 + 999ms).look.empty());
  s.facts[0].at = server_time{2h + 1s};
  s.tick(t0 + 1s);
  EXPECT_EQ(s.a.voters().size(), 3U);
}

TEST(admission_clock, a_clock_that_is_behind_by_the_margin_is_not) {
  store s(1);
  s.facts[0].record->last_time = server_time{2h};
  s.facts[0].at = server_time{2h} - std::chrono::duration_cast<server_time>(margin);
  s.connect_all(t0);
  EXPECT_EQ(s.a.voters().size(), 1U);
  s.facts[0].at -= server_time{1};
  s.connect(0, t0 + 1s);
  EXPECT_TRUE(s.a.voters().empty());
  EXPECT_LE(s.wake, t0 + 1s + 3ms);
}

TEST(admission_clock, whose_clock_is_behind_is_sealed_for_others) {
  store s(3);
  for (auto& f : s.facts) f.record->last_time = f.at = server_time{2h};
  s.facts[0].at = server_time{1h};
  s.facts[1].run_id = "run9";
  s.connect_all(t0);
  s.come_back(t0 + wait);
  EXPECT_EQ(s.a.voters().size(), 2U) << "node 0 and node 2 keep what they recorded";
  EXPECT_TRUE(s.a.voters().has(1));
  s.facts[0].at = server_time{3h};
  s.connect(0, t0 + wait + 1s);
  EXPECT_EQ(s.a.voters().size(), 3U);
}

TEST(admission_clock, when_all_clocks_were_set_back_it_says_so_and_what_to_do) {
  store s(3);
  for (auto& f : s.facts) f.record->last_time = server_time{2h};
  for (auto& f : s.facts) f.at = server_time{1h};
  s.connect_all(t0);
  const auto v = s.a.verdict(t0);
  ASSERT_FALSE(v);
  EXPECT_EQ(v.error().code(), errc::unavailable);
  EXPECT_NE(v.error().message().find("host0, host1 and host2 each has its clock 1h behind"),
            std::string::npos)
      << v.error().message();
  EXPECT_NE(v.error().message().find("Set the clocks right"), std::string::npos);
  EXPECT_EQ(v.error().message().find("lost its state"), std::string::npos);
}

/// The clock of node `i` is seen to step at `now`.
void step_clock(store& s, node_index i, time_point now) {
  s.serve(s.a.on_time(i, clock_before, now - 1ms, now), now);
  s.serve(s.a.on_time(i, clock_before + 3600s, now, now + 1ms), now);
}

TEST(admission_clock, nodes_that_only_stepped_come_back_by_themselves) {
  for (const std::size_t nodes : {1U, 3U, 5U}) {
    store s(nodes);
    s.connect_all(t0);
    for (node_index i = 0; i < nodes; ++i) step_clock(s, i, t0 + 1s);
    EXPECT_TRUE(s.a.voters().empty());
    EXPECT_EQ(s.a.verdict(t0 + 2s).error().message().find("recover"), std::string::npos);
    EXPECT_NE(s.a.explain(0, t0 + 2s).find("had its clock set"), std::string::npos);
    s.tick(t0 + 1s + wait - 1ms);
    EXPECT_TRUE(s.a.voters().empty()) << "what they granted may be held by others";
    for (int i = 0; i < 40; ++i) s.tick(t0 + 1s + wait + i * 50ms);
    EXPECT_EQ(s.a.voters().size(), nodes);
    for (const auto& f : s.facts) EXPECT_EQ(f.record->kept_epoch, 0U);
    EXPECT_TRUE(nodes > 1 || s.a.epoch() == 3) << "as before: nothing else was lost";
  }
}

TEST(admission_clock, whoever_waits_for_nodes_is_told_that_they_are_about_to_return) {
  store s(5);
  s.connect_all(t0);
  for (node_index i = 0; i < 3; ++i) step_clock(s, i, t0 + 1s);
  EXPECT_FALSE(s.a.is_returning(0, t0 + wait)) << "that takes as long as it takes";
  for (node_index i = 0; i < 5; ++i) s.a.disconnected(i, t0 + 2s);
  const time_point over = t0 + 2s + wait;
  s.connect_all(over);
  EXPECT_TRUE(s.a.is_returning(0, over));
  EXPECT_EQ(s.a.voters().size(), 2U);
  for (int i = 0; i < 40; ++i) s.tick(over + i * 50ms);
  EXPECT_EQ(s.a.voters().size(), 5U);
  EXPECT_FALSE(s.a.is_returning(0, over + 2s));
  EXPECT_FALSE(s.a.is_returning(4, over + 2s)) << "it was never away";
}

TEST(admission_clock, nobody_waits_for_a_node_that_lost_its_state) {
  store s(3);
  s.connect_all(t0);
  for (node_index i = 0; i < 3; ++i) s.facts[i].record.reset();
  s.facts[0].record = s.a.facts_of(0).record;
  s.facts[0].run_id = "run9";
  s.connect(0, t0 + 2s);
  for (node_index i = 1; i < 3; ++i) s.a.disconnected(i, t0 + 2s);
  s.tick(t0 + 10 * wait);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
  EXPECT_FALSE(s.a.is_returning(0, t0 + 10 * wait)) << "others are missing";
}

TEST(admission_clock, the_wait_is_kept_though_others_come_and_go) {
  store s(3);
  s.connect_all(t0);
  step_clock(s, 0, t0 + 1s);
  s.tick(t0 + 2s);
  s.a.disconnected(1, t0 + 3s);
  s.a.disconnected(2, t0 + 3s);
  for (int i = 0; i < 50; ++i) s.tick(t0 + 3s + i * 1s);
  EXPECT_EQ(s.facts[0].record->epoch, 0U);
  s.tick(t0 + 1s + 1ms + wait + 1s);
  EXPECT_EQ(s.facts[0].record->epoch, 3U);
}

TEST(admission_clock, a_node_that_lost_more_than_time_needs_others) {
  store s(1);
  s.connect_all(t0);
  step_clock(s, 0, t0 + 1s);
  ASSERT_EQ(s.facts[0].record->kept_epoch, 3U);
  s.facts[0].run_id = "run9";
  s.connect(0, t0 + 2s);
  EXPECT_EQ(s.facts[0].record->kept_epoch, 0U) << "what it loaded may be older";
  s.tick(t0 + 10 * wait);
  EXPECT_TRUE(s.a.voters().empty());
  EXPECT_NE(s.a.verdict(t0 + 10 * wait).error().message().find("recover"), std::string::npos);
}

TEST(admission_clock, a_durable_restart_within_the_wait_loses_nothing_either) {
  store s(1);
  s.facts[0].durable = s.facts[0].record->durable = true;
  s.connect_all(t0);
  step_clock(s, 0, t0 + 1s);
  s.facts[0].run_id = "run9";
  s.connect(0, t0 + 2s);
  EXPECT_EQ(s.facts[0].record->kept_epoch, 3U);
  s.tick(t0 + 2s + wait - 1ms);
  EXPECT_TRUE(s.a.voters().empty());
  s.tick(t0 + 2s + wait);
  EXPECT_EQ(s.a.voters().size(), 1U);
}

TEST(admission_clock, a_record_that_another_wrote_while_time_was_read_is_no_step) {
  store s = a_watched_store();
  for (int k = 1; k <= 10; ++k) {
    const time_point t = t0 + std::chrono::seconds(k);
    s.serve(s.a.on_time(0, clock_before + std::chrono::seconds(k), t, t + 1ms), t);
  }
  ASSERT_TRUE(s.writes.empty());
  // An operator's new record, four seconds old; no script ran since.
  s.facts[0].record->nonce = "by another";
  s.facts[0].record->epoch = 4;
  s.facts[0].record->last_time = clock_before + 7s;
  s.connect(0, t0 + 11s);
  s.serve(s.a.on_time(0, clock_before + 11s, t0 + 11s, t0 + 11s + 1ms), t0 + 11s);
  EXPECT_TRUE(s.writes.empty()) << "no clock stepped";
  EXPECT_EQ(s.a.standing_of(0), standing::admitted);
  s.serve(s.a.on_time(0, clock_before + 3600s, t0 + 12s, t0 + 12s + 1ms), t0 + 12s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting) << "now one does";
}

/// The name of node 0 leads to the server of node 1, whose clock is another; then back.
void lead_elsewhere_and_back(store& s, time_point then, time_point back) {
  node_facts other = s.facts[1];
  other.asked = then;
  s.serve(s.a.looked_at(0, other, s.fresh(), then), then);
  ASSERT_EQ(s.a.standing_of(0), standing::refused);
  s.serve(s.a.on_time(0, clock_before + 1000s, then, then + 1ms), then);
  s.connect(0, back);
}

TEST(admission_clock, a_name_that_led_to_another_node_for_a_while_is_no_step) {
  store s = a_watched_store();
  for (const node_index i : {0, 1}) s.facts[i].record->last_time = clock_before;
  lead_elsewhere_and_back(s, t0 + 10s, t0 + 15s);
  s.serve(s.a.on_time(0, clock_before + 15s, t0 + 15s, t0 + 15s + 1ms), t0 + 15s);
  EXPECT_TRUE(s.writes.empty());
  EXPECT_TRUE(s.a.voters().has(0));
}

TEST(admission_clock, a_step_while_a_name_led_to_another_node_is_seen) {
  store s = a_watched_store();
  // Who did not watch it went on asking it after the step.
  s.facts[0].record->last_time = clock_before + 3600s + 14s;
  lead_elsewhere_and_back(s, t0 + 10s, t0 + 15s);
  s.serve(s.a.on_time(0, clock_before + 3600s + 15s, t0 + 15s, t0 + 15s + 1ms), t0 + 15s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
}

TEST(admission_clock, the_clock_of_another_server_that_takes_the_place_is_no_step) {
  store s = a_watched_store();
  s.facts[0].record->last_time = clock_before;
  const node_facts first = s.facts[0];
  s.facts[0] = healthy(7);
  s.facts[0].record->last_time = clock_before - 1000s;
  s.connect(0, t0 + 10s);
  s.serve(s.a.on_time(0, clock_before + 500s, t0 + 10s, t0 + 10s + 1ms), t0 + 10s);
  EXPECT_TRUE(s.a.voters().has(0));
  s.facts[0] = first;
  s.connect(0, t0 + 100s);
  s.serve(s.a.on_time(0, clock_before + 100s, t0 + 100s, t0 + 100s + 1ms), t0 + 100s);
  EXPECT_TRUE(s.a.voters().has(0));
  EXPECT_TRUE(s.writes.empty());
}

TEST(admission_clock, a_step_and_a_restart_that_may_have_lost_writes_are_a_loss) {
  for (const bool before : {false, true}) {
    store s = a_watched_store();
    s.facts[0].record->durable = before;
    s.a.doubted(0, t0 + 1s);
    s.serve(s.a.on_time(0, clock_before + 3600s, t0 + 1s, t0 + 1s + 1ms), t0 + 1s);
    s.facts[0].run_id = "run9";
    s.facts[0].durable = !before;  // Which of the two did not sync makes no difference.
    s.connect(0, t0 + 2s);
    ASSERT_EQ(s.writes.size(), 1U) << before;
    EXPECT_EQ(s.writes[0].record.kept_epoch, 0U) << before;
  }
}

TEST(admission_clock, a_record_of_another_hides_no_step_of_the_same_server) {
  for (const bool restarted : {false, true}) {
    store s = a_watched_store();
    s.a.disconnected(0, t0 + 1s);
    // A restart keeps the id of the record, and a loss that is named keeps the process.
    node_facts& f = s.facts[0];
    f.record->nonce = "by another";
    f.record->last_time = clock_before + 150s;
    if (restarted) f.run_id = f.record->run_id = "run9";
    if (!restarted) f.record->id = "by another";
    s.connect(0, t0 + 200s);
    s.serve(s.a.on_time(0, clock_before + 3800s, t0 + 200s, t0 + 200s + 1ms), t0 + 200s);
    EXPECT_EQ(s.a.standing_of(0), standing::waiting) << restarted;
  }
}

/// What its clock may have gained while it was not watched is counted from the last look.
TEST(admission_clock, a_record_of_another_was_written_after_the_one_before_was_read_last) {
  enum class looked { whole, empty, restarted };
  for (const looked how : {looked::whole, looked::empty, looked::restarted}) {
    store s = a_watched_store();
    node_facts there = s.facts[0];
    there.asked = t0 + 100s;
    if (how == looked::empty) there.record.reset();
    if (how == looked::restarted) there.run_id = there.record->run_id = "run9";
    s.a.looked_at(0, there, s.fresh(), t0 + 100s);
    s.a.disconnected(0, t0 + 101s);
    s.facts[0].record->nonce = "by another";
    s.facts[0].run_id = s.facts[0].record->run_id = there.run_id;
    s.facts[0].record->last_time = clock_before + 101s;
    s.connect(0, t0 + 200s);
    s.serve(s.a.on_time(0, clock_before + 260s, t0 + 200s, t0 + 200s + 1ms), t0 + 200s);
    EXPECT_EQ(s.a.standing_of(0), standing::waiting) << static_cast<int>(how);
  }
}

TEST(admission_clock, an_empty_server_in_between_is_not_taken_for_the_node) {
  store s = a_watched_store();
  node_facts empty = healthy(7);
  empty.record.reset();
  s.a.looked_at(0, empty, s.fresh(), t0 + 100s);
  s.a.disconnected(0, t0 + 101s);
  // A loss of the node itself was named by another client, after which its clock stepped.
  s.facts[0].record->id = s.facts[0].record->nonce = "by another";
  s.facts[0].record->last_time = clock_before + 150s;
  s.connect(0, t0 + 200s);
  s.serve(s.a.on_time(0, clock_before + 3800s, t0 + 200s, t0 + 200s + 1ms), t0 + 200s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
}

}  // namespace
}  // namespace holdfast::core::redlock
