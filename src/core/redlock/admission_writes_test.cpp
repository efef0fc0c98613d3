#include "core/redlock/admission_fixture.hpp"

#include <gtest/gtest.h>

/// Answers that belong to an earlier write than the one that is waited for.

namespace holdfast::core::redlock {
namespace {

/// The nodes do what is asked of them later, in the order in which it was asked.
struct slow_store : store {
  void keep(const admission::step& s) {
    under_way.insert(under_way.end(), s.writes.begin(), s.writes.end());
  }
  void answer_all(time_point now) {
    for (const write& w : std::exchange(under_way, {})) serve(a.written(w, execute(w), now), now);
  }

  std::vector<write> under_way;
};

TEST(admission_writes, of_two_marks_the_one_that_was_written_counts) {
  slow_store s;
  s.connect(1, t0);
  s.connect(2, t0);
  s.facts[0].run_id = "run9";
  // Two looks were under way; both read the record of before.
  s.keep(s.a.looked_at(0, s.facts[0], s.fresh(), t0));
  s.keep(s.a.looked_at(0, s.facts[0], s.fresh(), t0 + 1ms));
  ASSERT_EQ(s.under_way.size(), 2U);
  s.answer_all(t0 + 2ms);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
  EXPECT_EQ(s.a.facts_of(0).record->nonce, s.facts[0].record->nonce);
  for (int i = 0; i < 40; ++i) s.tick(t0 + 2ms + wait + i * 50ms);
  EXPECT_TRUE(s.a.voters().has(0)) << "after one wait";
}

TEST(admission_writes, who_lost_its_state_does_not_pass_for_the_node_whose_file_it_loaded) {
  store s;
  // The process is another one, and the record and all keys are those of node 1.
  s.facts[0].record = s.facts[1].record;
  s.connect(0, t0);
  ASSERT_EQ(s.writes.size(), 1U);
  EXPECT_NE(s.facts[0].record->id, "id1");
  store next;
  next.facts[0] = s.facts[0];
  next.connect_all(t0 + 1s);
  EXPECT_EQ(next.a.standing_of(0), standing::waiting);
  EXPECT_EQ(next.a.standing_of(1), standing::admitted) << "it is no copy of node 0";
}

TEST(admission_writes, who_lost_nothing_but_time_stays_who_it_is) {
  store s;
  s.connect_all(t0 - 1s);
  constexpr server_time wall{1'700'000'000s};
  s.serve(s.a.on_time(0, wall, t0 - 1s, t0 - 1s + 1ms), t0);
  s.serve(s.a.on_time(0, wall + 3600s, t0, t0 + 1ms), t0);
  ASSERT_EQ(s.facts[0].record->epoch, 0U);
  EXPECT_EQ(s.facts[0].record->id, "id0");
}

TEST(admission_writes, a_step_that_is_seen_while_a_rejoin_is_written_is_recorded) {
  slow_store s;
  for (auto& f : s.facts) f.durable = f.record->durable = true;
  s.connect_all(t0 - 1s);
  constexpr server_time wall{1'700'000'000s};
  s.a.on_time(0, wall, t0 - 1s, t0 - 1s + 1ms);
  s.facts[0].run_id = "run9";
  const auto seals = s.a.looked_at(0, s.facts[0], s.fresh(), t0).seals;
  ASSERT_EQ(seals.size(), 2U);
  for (const seal& x : seals) s.keep(s.a.sealed(x, {seal_reply::result::sealed, 100, 0}, t0));
  ASSERT_EQ(s.under_way.size(), 1U) << "the rejoin's";
  s.keep(s.a.on_time(0, wall + 3600s, t0, t0 + 1ms));
  ASSERT_EQ(s.under_way.size(), 2U);
  s.answer_all(t0 + 2ms);
  EXPECT_EQ(s.facts[0].record->epoch, 0U) << "so that nobody counts it";
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
}

/// Another record would go on in the epoch of before, and the answer to the first not be heard.
TEST(admission_writes, whose_rejoin_is_being_written_does_not_come_back_alone_besides) {
  slow_store s;
  for (auto& f : s.facts) f.durable = f.record->durable = true;
  s.connect_all(t0 - 1s);
  s.facts[0].run_id = "run9";
  for (const seal& x : s.a.looked_at(0, s.facts[0], s.fresh(), t0).seals) {
    s.keep(s.a.sealed(x, {seal_reply::result::sealed, 200, 0}, t0));
  }
  ASSERT_EQ(s.under_way.size(), 1U) << "the rejoin's";
  for (const node_index other : {1U, 2U}) s.keep(s.a.disconnected(other, t0 + 1ms));
  for (duration d = timeout; d <= 8 * timeout; d += timeout) s.keep(s.a.tick(t0 + d));
  for (const write& w : s.under_way) EXPECT_EQ(w.record.epoch, 4U) << "nobody else is there";
  s.answer_all(t0 + 9 * timeout);
  EXPECT_TRUE(s.a.voters().has(0));
  EXPECT_EQ(s.facts[0].record->epoch, 4U);
  EXPECT_EQ(s.facts[0].record->floor, 200U) << "what the others had";
}

TEST(admission_writes, a_node_that_comes_back_alone_votes_when_that_is_written) {
  for (const write_reply r : {write_reply::failed, write_reply::changed, write_reply::written}) {
    slow_store s;
    s.facts[0].durable = s.facts[0].record->durable = true;
    s.facts[0].run_id = "run9";
    s.connect(0, t0);
    for (const node_index other : {1U, 2U}) s.a.disconnected(other, t0);
    const time_point alone = t0 + 4 * 50ms;
    const auto writes = s.a.tick(alone).writes;
    ASSERT_EQ(writes.size(), 1U) << "nobody else is there";
    const auto after = s.a.written(writes[0], r, alone + 1ms);
    EXPECT_EQ(s.a.voters().has(0), r == write_reply::written);
    EXPECT_EQ(after.look.has(0), r == write_reply::changed) << "somebody else was first";
  }
}

TEST(admission_writes, a_node_that_refuses_them_is_asked_more_and_more_rarely) {
  store s;
  s.connect(1, t0);
  s.connect(2, t0);
  s.facts[0].run_id = "run9";
  time_point now = t0;
  duration pause = 100ms;
  for (int i = 0; i < 10; ++i, pause = std::min<duration>(2 * pause, 5s)) {
    const auto looked = s.a.looked_at(0, s.facts[0], s.fresh(), now);
    ASSERT_EQ(looked.writes.size(), 1U);
    const auto after = s.a.written(looked.writes[0], write_reply::failed, now);
    EXPECT_EQ(after.wake, now + pause);
    now += pause;
    EXPECT_TRUE(s.a.tick(now).look.has(0));
  }
}

/// The server has another id since the loss was named.
TEST(admission_writes, a_copy_of_a_node_that_lost_its_state_is_none_of_the_others) {
  store s(5);
  s.facts[0].run_id = "run9";
  s.connect_all(t0);
  ASSERT_EQ(s.a.standing_of(0), standing::waiting);
  s.facts[1].record = s.facts[0].record;
  s.facts[1].run_id = "run8";
  s.connect(1, t0 + 1s);
  EXPECT_EQ(s.a.standing_of(1), standing::refused) << s.a.explain(1, t0 + 1s);
}

TEST(admission_writes, the_record_of_a_node_that_rejoined_says_whether_it_syncs) {
  for (const bool durable : {false, true}) {
    store s;
    s.facts[0].run_id = "run9";
    s.facts[0].durable = durable;
    s.connect_all(t0);
    s.come_back(t0 + wait);
    ASSERT_TRUE(s.a.voters().has(0));
    EXPECT_EQ(s.writes.size(), 2U);
    EXPECT_EQ(s.facts[0].record->durable, durable);
  }
}

}  // namespace
}  // namespace holdfast::core::redlock
