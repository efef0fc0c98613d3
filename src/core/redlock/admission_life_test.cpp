#include "core/redlock/admission_fixture.hpp"

#include <gtest/gtest.h>

/// What a node says of itself may change while its process lives.

namespace holdfast::core::redlock {
namespace {

TEST(admission_life, a_server_that_was_promoted_has_lost_what_it_granted) {
  store s(3);
  s.connect_all(t0);
  ASSERT_EQ(s.a.voters().size(), 3U);
  s.facts[0].run_id = "run0#data-1";
  s.connect(0, t0 + 1s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
  ASSERT_EQ(s.writes.size(), 1U);
  EXPECT_NE(s.writes[0].record.nonce, "nonce0") << "no client counts what the old nonce grants";
  EXPECT_EQ(s.writes[0].record.epoch, 0U);
  EXPECT_EQ(s.writes[0].record.run_id, "run0#data-1");
  s.come_back(t0 + 1s + wait);
  EXPECT_EQ(s.a.voters().size(), 3U);

  s.facts[0].run_id = "run0#data-2";
  s.connect(0, t0 + 200s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting) << "each promotion";
}

/// No epoch is above it, so that nothing could be sealed for the node any more.
TEST(admission_life, a_node_whose_epoch_is_damaged_has_lost_its_state_and_comes_back) {
  for (const char* process : {"run0", "run9"}) {
    store s(3);
    for (auto& f : s.facts) f.durable = f.record->durable = true;
    s.facts[0].record->epoch = token_max.value;
    s.facts[0].run_id = process;
    s.connect_all(t0);
    ASSERT_EQ(s.writes.size(), 1U) << process;
    EXPECT_EQ(s.writes[0].record.epoch, 0U);
    EXPECT_EQ(s.writes[0].record.kept_epoch, 0U);
    EXPECT_EQ(s.a.voters().size(), 2U);
    s.tick(t0 + wait);
    EXPECT_EQ(s.a.voters().size(), 3U);
    for (const auto& f : s.facts) EXPECT_EQ(f.record->epoch, 4U);
  }
}

/// The largest floor becomes that of all: the others would have no token left.
TEST(admission_life, a_node_whose_floor_is_damaged_has_lost_its_state_and_comes_back) {
  for (const char* process : {"run0", "run9"}) {
    store s(3);
    for (auto& f : s.facts) f.durable = f.record->durable = true;
    s.facts[0].record->floor = believable + 1;
    s.facts[0].run_id = process;
    s.connect_all(t0);
    ASSERT_EQ(s.writes.size(), 1U) << process;
    EXPECT_EQ(s.writes[0].record.epoch, 0U);
    EXPECT_EQ(s.writes[0].record.kept_epoch, 0U);
    EXPECT_EQ(s.writes[0].record.floor, 0U);
    EXPECT_EQ(s.a.voters().size(), 2U);
    s.tick(t0 + wait);
    EXPECT_EQ(s.a.voters().size(), 3U);
    for (const auto& f : s.facts) EXPECT_LT(f.record->floor, believable);
  }
}

TEST(admission_life, an_epoch_that_is_damaged_under_the_eyes_of_a_client_stops_no_rejoin) {
  store s(5);
  s.connect_all(t0);
  s.facts[0].record->epoch = token_max.value;
  s.facts[1].run_id = "run9";
  s.connect(1, t0);
  s.come_back(t0 + wait);
  EXPECT_TRUE(s.a.voters().has(1));
  EXPECT_EQ(s.facts[1].record->epoch, 4U);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
  s.come_back(t0 + 2 * wait);
  EXPECT_EQ(s.a.voters().size(), 5U);
}

TEST(admission_life, a_promotion_that_is_forgotten_is_no_loss) {
  store s(3);
  s.facts[0].run_id = s.facts[0].record->run_id = "run0#data-1";
  s.connect_all(t0);
  ASSERT_EQ(s.a.voters().size(), 3U);
  s.facts[0].run_id = "run0";
  s.connect(0, t0 + 1s);
  EXPECT_EQ(s.a.voters().size(), 3U);
  EXPECT_TRUE(s.writes.empty());
}

TEST(admission_life, a_node_that_no_longer_syncs_has_it_in_its_record) {
  store s(3);
  for (auto& f : s.facts) f.durable = f.record->durable = true;
  s.connect_all(t0);
  ASSERT_TRUE(s.writes.empty());
  s.facts[0].durable = false;
  s.connect(0, t0 + 1s);
  ASSERT_EQ(s.writes.size(), 1U);
  EXPECT_FALSE(s.writes[0].record.durable);
  EXPECT_EQ(s.writes[0].record.nonce, "nonce0") << "what it granted stays";
  EXPECT_EQ(s.writes[0].record.epoch, 3U);
  EXPECT_EQ(s.a.voters().size(), 3U);

  // Its file is older than what it granted since, whatever it is set to now.
  s.facts[0].run_id = "run9";
  s.facts[0].durable = true;
  s.connect(0, t0 + 2s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
}

TEST(admission_life, a_node_that_syncs_again_votes_at_once_after_a_restart) {
  store s(3);
  for (auto& f : s.facts) f.durable = true;
  s.connect_all(t0);
  EXPECT_EQ(s.writes.size(), 3U);
  EXPECT_TRUE(s.facts[0].record->durable);
  EXPECT_EQ(s.a.voters().size(), 3U);
  s.facts[0].run_id = "run9";
  s.connect(0, t0 + 1s);
  EXPECT_EQ(s.a.voters().size(), 3U);
}

TEST(admission_life, a_rewrite_of_its_file_says_nothing_new_of_a_node) {
  store s(3);
  for (auto& f : s.facts) f.durable = f.record->durable = true;
  s.connect(0, t0);
  s.facts[0].durable = s.facts[1].durable = s.facts[2].durable = false;
  s.facts[0].rewriting = s.facts[1].rewriting = s.facts[2].rewriting = true;
  s.facts[2].record->durable = false;
  s.connect_all(t0 + 1s);
  EXPECT_TRUE(s.a.facts_of(0).durable) << "it was seen to be";
  EXPECT_TRUE(s.a.facts_of(1).durable) << "its record says so of this process";
  EXPECT_FALSE(s.a.facts_of(2).durable);
  EXPECT_TRUE(s.writes.empty());
  // Whether another process has read all that was answered is not known while it rewrites.
  s.facts[0].run_id = "run9";
  s.connect(0, t0 + 2s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
}

TEST(admission_life, with_tokens_off_a_rewrite_says_nothing_new_either) {
  store s(1, false);
  s.facts[0].record.reset();
  s.facts[0].durable = true;
  s.connect(0, t0);
  admission later({.nodes = 1, .tokens = false, .max_ttl = max_ttl, .timeout = 50ms}, s.a.notes());
  s.facts[0].durable = false;
  s.facts[0].rewriting = true;
  later.looked_at(0, s.facts[0], "", t0 + 1s);
  EXPECT_TRUE(later.facts_of(0).durable);
}

TEST(admission_life, while_its_durability_is_written_it_votes_on) {
  store s(3);
  s.connect_all(t0);
  auto f = s.facts[0];
  f.durable = true;
  const auto step = s.a.looked_at(0, f, "fresh", t0 + 1s);
  ASSERT_EQ(step.writes.size(), 1U);
  EXPECT_TRUE(s.a.voters().has(0));
  EXPECT_TRUE(s.a.written(step.writes[0], write_reply::failed, t0 + 1s).look.empty());
  EXPECT_TRUE(s.a.voters().has(0)) << "a full node extends and releases, too";
  EXPECT_EQ(s.a.looked_at(0, f, "fresh", t0 + 6s).writes.size(), 1U) << "tried again";
}

TEST(admission_life, a_record_that_cannot_be_written_is_tried_more_and_more_rarely) {
  store s(3);
  s.connect_all(t0);
  auto f = s.facts[0];
  f.run_id = "run9";
  time_point now = t0 + 1s;
  duration last{};
  for (int tries = 0; tries < 10; ++tries) {
    const auto mark = s.a.looked_at(0, f, s.fresh(), now).writes;
    ASSERT_EQ(mark.size(), 1U);
    const auto refused = s.a.written(mark[0], write_reply::failed, now);
    EXPECT_TRUE(refused.look.empty()) << "at once it would refuse again";
    const duration pause = refused.wake - now;
    EXPECT_GE(pause, 100ms);
    EXPECT_LE(pause, 5s);
    EXPECT_TRUE(pause > last || pause == 5s);
    last = pause;
    EXPECT_TRUE(s.a.tick(now + pause - 1ms).look.empty());
    now += pause;
    EXPECT_TRUE(s.a.tick(now).look.has(0));
  }
  EXPECT_EQ(last, 5s);
  const auto mark = s.a.looked_at(0, f, s.fresh(), now).writes;
  EXPECT_TRUE(s.a.written(mark.at(0), write_reply::changed, now).look.has(0))
      << "somebody else was first";
}

TEST(admission_life, who_kept_its_state_extends_while_it_rejoins_and_who_lost_it_does_not) {
  const time_point then = t0 + wait + admission::return_first * timeout;
  for (const bool durable : {true, false}) {
    store s(3);
    for (auto& f : s.facts) f.record->durable = f.durable = durable;
    s.connect(1, t0);
    s.connect(2, t0);
    s.facts[0].run_id = "run9";
    admission::step under_way = s.a.looked_at(0, s.facts[0], s.fresh(), t0);
    if (!durable) {
      s.serve(under_way, t0);
      EXPECT_EQ(s.a.keepers().size(), 2U);
      s.a.tick(t0 + wait);
      ASSERT_TRUE(s.a.tick(then).look.has(0));
      under_way = s.a.looked_at(0, s.facts[0], s.fresh(), then);
    }
    ASSERT_EQ(s.a.standing_of(0), standing::joining);
    EXPECT_EQ(under_way.seals.size(), 2U);
    EXPECT_EQ(s.a.keepers().has(0), durable) << "what it refuses would be doubted";
    EXPECT_EQ(s.a.voters().size(), 2U);
    s.serve(under_way, then);
    EXPECT_EQ(s.a.keepers().size(), 3U);
  }
}

TEST(admission_life, who_kept_its_state_and_whose_clock_is_behind_extends_when_it_is_back) {
  store s(3);
  for (auto& f : s.facts) f.record->durable = f.durable = true;
  s.connect(1, t0);
  s.connect(2, t0);
  s.facts[0].run_id = "run9";
  s.facts[0].record->last_time = 2h;
  s.facts[0].at = 1h;
  const auto under_way = s.a.looked_at(0, s.facts[0], s.fresh(), t0);
  ASSERT_EQ(s.a.standing_of(0), standing::joining);
  EXPECT_EQ(under_way.seals.size(), 2U);
  EXPECT_FALSE(s.a.keepers().has(0)) << "what it refuses would be doubted, and begin it anew";
  s.serve(under_way, t0);
  EXPECT_TRUE(s.a.keepers().has(0));
}

TEST(admission_life, notes_of_nonces_without_end_are_forgotten) {
  store s;
  s.connect_all(t0);
  for (std::size_t n = 0; n < 2 * life_notes::notes_max; ++n) {
    const time_point now = t0 + std::chrono::milliseconds(n);
    s.a.disconnected(2, now);
    s.facts[2].record->nonce = "other" + std::to_string(n);
    s.facts[2].record->epoch = 0;
    s.connect(2, now);
    ASSERT_EQ(s.a.standing_of(2), standing::waiting);
    ASSERT_LE(s.a.notes().all().size(), life_notes::notes_max);
  }
}

TEST(admission_life, a_step_that_was_seen_under_the_life_before_is_nothing_to_the_next) {
  store s;
  s.connect_all(t0);
  constexpr server_time wall{1'700'000'000s};
  s.a.on_time(0, wall, t0, t0 + 1ms);
  s.a.doubted(0, t0 + 1s);
  s.a.on_time(0, wall + 3600s, t0 + 1s, t0 + 1s + 1ms);
  // Somebody else saw it, too, and the node has waited for it.
  s.facts[0].record->nonce = "theirs";
  s.facts[0].record->last_time = wall + 3601s;
  s.connect(0, t0 + 100s);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted);
  EXPECT_TRUE(s.writes.empty()) << "it is not put out again";
}

/// The next process is judged by it.
TEST(admission_life, the_record_of_a_loss_says_whether_this_process_syncs) {
  for (const bool durable : {false, true}) {
    store s;
    s.facts[0].record->durable = !durable;
    s.facts[0].durable = durable;
    s.facts[0].run_id = "run9";
    s.connect(0, t0);
    ASSERT_EQ(s.writes.size(), 1U) << durable;
    EXPECT_EQ(s.writes[0].record.durable, durable);
  }
}

TEST(admission_life, of_two_losses_under_one_connection_each_gets_its_own_nonce) {
  store s = a_watched_store();
  s.serve(s.a.on_time(0, clock_before + 3600s, t0 + 1s, t0 + 1s + 1ms), t0 + 1s);
  s.serve(s.a.on_time(0, clock_before + 9999s, t0 + 2s, t0 + 2s + 1ms), t0 + 2s);
  ASSERT_EQ(s.writes.size(), 2U);
  EXPECT_NE(s.writes[0].record.nonce, s.writes[1].record.nonce);
}

TEST(admission_life, what_was_seen_of_a_process_counts_where_its_record_could_not_be_written) {
  store s;
  s.facts[0].durable = s.facts[0].record->durable = true;
  s.connect_all(t0);
  s.facts[0].durable = false;
  s.a.looked_at(0, s.facts[0], s.fresh(), t0 + 1s);  // What it has to write is lost.
  s.facts[0].rewriting = true;
  s.connect(0, t0 + 2s);
  EXPECT_FALSE(s.facts[0].record->durable) << "a rewrite says nothing new";
}

TEST(admission_life, who_waited_and_has_all_its_data_since_waits_no_more) {
  store s;
  s.facts[0].run_id = "run9";
  s.connect_all(t0);
  ASSERT_EQ(s.a.standing_of(0), standing::waiting);
  // Another client saw the loss long before, and brought it back; then it restarted.
  s.facts[0].durable = s.facts[0].record->durable = true;
  s.facts[0].record->epoch = 4;
  s.facts[0].run_id = "run10";
  s.connect(0, t0 + 2s);
  s.tick(t0 + 2s);
  EXPECT_TRUE(s.a.voters().has(0));
}

TEST(admission_life, who_is_away_extends_nothing) {
  store s;
  s.connect_all(t0);
  s.a.disconnected(0, t0);
  EXPECT_EQ(s.a.keepers(), node_set::only(1) | node_set::only(2));
}

TEST(admission_life, the_only_record_there_is_counts_when_its_node_is_refused_no_more) {
  store s(1);
  s.facts[0].master = false;
  s.connect(0, t0);
  ASSERT_EQ(s.a.standing_of(0), standing::refused);
  s.facts[0].master = true;
  s.connect(0, t0 + 1s);
  EXPECT_TRUE(s.a.voters().has(0));
}

TEST(admission_life, where_no_node_has_a_record_all_are_looked_at_each_second) {
  store s;
  for (auto& f : s.facts) f.record.reset();
  s.connect_all(t0);
  ASSERT_EQ(s.a.standing_of(0), standing::blank);
  for (node_index i = 0; i < 3; ++i) s.facts[i].record = record_of(i);  // `init` was run.
  ASSERT_LE(s.wake, t0 + 1s);
  s.tick(t0 + 1s);
  EXPECT_EQ(s.a.voters().size(), 3U) << "to clients that stayed connected";
}

/// Who ends while that is so leaves it to the next client.
TEST(admission_life, a_client_is_busy_while_a_loss_is_named_and_while_others_are_sealed) {
  store s;
  s.connect_all(t0);
  s.answers_seals = false;
  s.facts[0].run_id = "run9";
  const auto marks = s.a.looked_at(0, s.facts[0], s.fresh(), t0);
  ASSERT_EQ(marks.writes.size(), 1U);
  EXPECT_TRUE(s.a.busy());
  s.serve(marks, t0);
  EXPECT_FALSE(s.a.busy()) << "the wait goes on without it";
  s.come_back(t0 + wait);
  ASSERT_EQ(s.seals.size(), 2U);
  EXPECT_TRUE(s.a.busy());
}

/// A server that its name led to is at home there no longer than until that can be over.
TEST(admission_life,
     a_node_that_is_refused_claims_the_server_before_no_longer_than_its_locks_live) {
  store s;
  s.connect_all(t0);
  const node_facts own = s.facts[0];
  s.facts[0].run_id = "run9";
  s.facts[0].master = false;
  s.connect(0, t0 + 1s);
  ASSERT_EQ(s.a.standing_of(0), standing::refused);
  s.facts[1] = own;
  s.connect(1, t0 + wait);
  EXPECT_EQ(s.a.standing_of(1), standing::refused);
  s.connect(1, t0 + 1s + wait);
  EXPECT_EQ(s.a.standing_of(1), standing::admitted);
}

TEST(admission_life, who_stays_refused_is_connected_to_every_few_seconds_and_no_more) {
  store s;
  s.connect_all(t0);
  s.facts[1].master = false;
  s.connect(1, t0);
  const time_point first = s.wake;
  ASSERT_GT(first, t0);
  ASSERT_TRUE(s.a.tick(first).reconnect.has(1));
  const auto after = s.a.tick(first + 1ms);
  EXPECT_TRUE(after.reconnect.empty());
  EXPECT_EQ(after.wake, first + (first - t0));
}

}  // namespace
}  // namespace holdfast::core::redlock
