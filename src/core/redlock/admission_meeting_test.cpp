#include "core/redlock/admission_fixture.hpp"

#include <gtest/gtest.h>

#include <vector>

/// Nodes that kept their state, in several epochs, while the others are gone.

namespace holdfast::core::redlock {
namespace {

/// So many nodes in these epochs are connected, and nothing was done yet.
store split(std::size_t nodes, const std::vector<std::uint64_t>& epochs) {
  store s(nodes);
  for (node_index i = 0; i < epochs.size(); ++i) {
    s.facts[i].record->epoch = epochs[i];
    s.connect(i, t0);
  }
  return s;
}

void pass(store& s, duration from, duration until) {
  for (duration t = from; t < until; t += 10ms) s.tick(t0 + t);
}

/// The seals of the first tick that has some, with nothing done of them.
admission::step first_seals(store& s) {
  admission::step step;
  for (duration t{}; t < 1s && step.seals.empty(); t += 10ms) {
    step = s.a.tick(t0 + t);
    for_each(step.look, [&](node_index i) { s.connect(i, t0 + t); });
  }
  return step;
}

TEST(admission_meeting, a_majority_in_two_epochs_meets_in_one) {
  for (const auto& epochs : {std::vector<std::uint64_t>{3, 3, 2}, {3, 2, 2}, {3, 2, 1}}) {
    store s = split(5, epochs);
    EXPECT_TRUE(s.a.may_meet());
    pass(s, 0ms, 190ms);
    EXPECT_TRUE(s.seals.empty()) << "who moved it may bring them up, as it was about to";
    pass(s, 190ms, 1s);
    EXPECT_EQ(s.a.voters().size(), 3U);
    EXPECT_EQ(s.a.epoch(), 3U);
    for (const seal& x : s.seals) EXPECT_LT(epochs[x.node], 3U) << "others may vote with it";
    EXPECT_TRUE(s.writes.empty());
    EXPECT_FALSE(s.a.may_meet() || s.a.busy());
  }
}

TEST(admission_meeting, two_of_three_meet_as_well) {
  store s = split(3, {3, 2});
  EXPECT_EQ(s.a.explain(1, t0), "is being brought back");
  pass(s, 0ms, 1s);
  EXPECT_EQ(s.a.voters().size(), 2U);
  EXPECT_EQ(s.a.epoch(), 3U);
  s.facts[2].record->epoch = 2;
  s.connect(2, t0 + 1s);
  pass(s, 1s, 3s);
  EXPECT_EQ(s.a.voters().size(), 3U) << "who was gone rejoins as ever";
}

TEST(admission_meeting, a_minority_stays_as_it_is) {
  store s = split(5, {3, 2});
  EXPECT_FALSE(s.a.may_meet());
  pass(s, 0ms, 5s);
  EXPECT_TRUE(s.seals.empty());
}

TEST(admission_meeting, who_lost_its_state_is_none_of_them) {
  store s = split(3, {3});
  s.facts[1].record.reset();
  s.connect(1, t0);
  EXPECT_FALSE(s.a.may_meet());
  pass(s, 0ms, 5s);
  EXPECT_TRUE(s.seals.empty());
}

TEST(admission_meeting, with_others_enough_one_rejoins) {
  store s = split(5, {3, 3, 2, 2});
  EXPECT_FALSE(s.a.may_meet());
  const auto step = first_seals(s);
  ASSERT_EQ(step.seals.size(), 3U);
  for (const seal& x : step.seals) EXPECT_NE(x.node, x.target);
}

TEST(admission_meeting, without_an_answer_it_is_tried_again) {
  store s = split(5, {3, 2, 1});
  const auto step = first_seals(s);
  ASSERT_EQ(step.seals.size(), 2U);
  EXPECT_TRUE(s.a.busy()) << "who ended now would leave the next one in two epochs";
  s.facts[1].record->epoch = step.seals[0].epoch;
  s.a.sealed(step.seals[0], {seal_reply::result::sealed, 100, 0}, t0 + 500ms);
  EXPECT_TRUE(s.a.busy());
  s.a.sealed(step.seals[1], {}, t0 + 550ms);
  EXPECT_FALSE(s.a.busy());
  EXPECT_EQ(s.a.voters().size(), 2U);
  pass(s, 550ms, 5s);
  EXPECT_EQ(s.a.voters().size(), 3U);
  EXPECT_EQ(s.a.epoch(), 3U);
}

TEST(admission_meeting, one_that_goes_away_meanwhile_is_not_waited_for) {
  store s = split(3, {3, 2});
  const auto step = first_seals(s);
  ASSERT_EQ(step.seals.size(), 1U);
  EXPECT_TRUE(s.a.busy());
  s.a.disconnected(1, t0 + 510ms);
  EXPECT_FALSE(s.a.busy());
}

TEST(admission_meeting, who_met_before_is_believed) {
  store s = split(3, {3, 2});
  const auto step = first_seals(s);
  ASSERT_EQ(step.seals.size(), 1U);
  s.facts[1].record->epoch = 3;
  s.a.sealed(step.seals[0], {seal_reply::result::refused, 0, 3}, t0 + 500ms);
  EXPECT_EQ(s.a.voters().size(), 2U);
  EXPECT_EQ(s.a.epoch(), 3U);
}

TEST(admission_meeting, a_rejoin_that_lost_its_others_gives_way) {
  store s = split(5, {3, 3, 2, 2});
  const auto step = first_seals(s);
  ASSERT_EQ(step.seals.size(), 3U);
  for (const seal& x : step.seals) s.a.sealed(x, {}, t0 + 500ms);
  EXPECT_EQ(s.a.voters().size(), 2U);
  const node_index target = step.seals[0].target;
  s.a.disconnected(target == 2 ? 3 : 2, t0 + 510ms);
  EXPECT_TRUE(s.a.may_meet());
  pass(s, 510ms, 5s);
  EXPECT_EQ(s.a.voters().size(), 3U);
  EXPECT_TRUE(s.writes.empty());
}

/// With an epoch of their own for each meeting, both would go on for ever.
TEST(admission_meeting, two_who_reach_different_majorities_leave_each_other_alone) {
  store p(3);
  store q(3);
  const auto take_over = [](store& from, store& to) {
    for (node_index i = 0; i < 3; ++i) to.facts[i].record->epoch = from.facts[i].record->epoch;
  };
  p.facts[1].record->epoch = 2;
  take_over(p, q);
  for (const node_index i : {0U, 1U}) p.connect(i, t0);
  for (const node_index i : {0U, 2U}) q.connect(i, t0);
  for (time_point now = t0; now < t0 + 10s; now += 10ms) {
    p.tick(now);
    take_over(p, q);
    q.connect(0, now);
    EXPECT_EQ(q.a.voters().size(), 2U);
    q.tick(now);
    take_over(q, p);
    p.connect(0, now);
  }
  EXPECT_EQ(p.a.voters().size(), 2U);
  EXPECT_EQ(p.a.epoch(), 3U);
  EXPECT_TRUE(q.seals.empty());
}

TEST(admission_meeting, the_epoch_that_most_nodes_are_in_votes) {
  store s(5);
  s.facts[4].record->epoch = 4;
  s.connect_all(t0);
  EXPECT_EQ(s.a.epoch(), 3U);
  EXPECT_EQ(s.a.voters(), node_set::all(4)) << "one that is ahead stops nobody";
}

TEST(admission_meeting, who_is_refused_or_away_puts_nobody_behind) {
  for (const bool refused : {false, true}) {
    store s(5);
    s.facts[4].record->epoch = 9;
    if (refused) s.facts[4].record->config_hash = "of other nodes";
    s.connect_all(t0);
    if (!refused) s.a.disconnected(4, t0 + 1ms);
    EXPECT_EQ(s.a.standing_of(0), standing::admitted) << refused;
    EXPECT_EQ(s.a.voters(), node_set::all(4)) << refused;
  }
}

TEST(admission_meeting, whoever_waits_for_nodes_is_told_that_one_is_about_to_be_brought_up) {
  const auto with = [](std::size_t nodes, std::vector<std::uint64_t> epochs) {
    store s(nodes);
    for (node_index i = 0; i < epochs.size(); ++i) {
      s.facts[i].record->epoch = epochs[i];
      s.connect(i, t0);
    }
    return s;
  };
  const store apart = with(3, {5, 4, 3});
  EXPECT_TRUE(apart.a.is_catching_up(1));
  EXPECT_FALSE(apart.a.is_catching_up(0)) << "it is the newest";
  EXPECT_FALSE(with(3, {4, 3, 3}).a.is_catching_up(1)) << "a majority votes without";
  EXPECT_TRUE(with(5, {4, 3, 3}).a.is_catching_up(1)) << "they meet";
  EXPECT_FALSE(with(5, {4, 3}).a.is_catching_up(1)) << "too few others are there";
}

}  // namespace
}  // namespace holdfast::core::redlock
