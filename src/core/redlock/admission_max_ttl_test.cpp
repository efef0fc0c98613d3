#include "core/redlock/admission_fixture.hpp"

#include <gtest/gtest.h>

/// A store whose max_ttl was changed while a node was away, or whose node loads an older record.

namespace holdfast::core::redlock {
namespace {

constexpr duration raised = 10 * max_ttl;
inline const duration longer = takeover_after(raised);

/// Three nodes; max_ttl was raised at all but node 0.
store a_raised_store() {
  store s;
  for (node_index i = 1; i < 3; ++i) s.facts[i].record->max_ttl = raised;
  return s;
}

TEST(admission_max_ttl, an_older_record_does_not_shorten_the_wait) {
  store s = a_raised_store();
  s.facts[0].run_id = "run9";
  s.connect_all(t0);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
  s.tick(t0 + longer - 1ms);
  EXPECT_FALSE(s.a.voters().has(0)) << "what it granted may be held for as long as others allow";
  s.come_back(t0 + longer);
  EXPECT_TRUE(s.a.voters().has(0));
}

TEST(admission_max_ttl, the_longest_that_anybody_knows_is_written_for_a_lost_one) {
  store s = a_raised_store();
  s.connect_all(t0);
  s.facts[2].record.reset();
  s.facts[2].run_id = "run9";
  s.connect(2, t0 + 1s);
  ASSERT_TRUE(s.facts[2].record);
  EXPECT_EQ(s.facts[2].record->max_ttl, raised) << "that of node 0 is older";
}

TEST(admission_max_ttl, a_node_that_is_seen_later_lengthens_the_wait) {
  store s = a_raised_store();
  s.facts[1].record->max_ttl = max_ttl;
  s.facts[1].run_id = "run9";
  s.connect(0, t0);
  s.connect(1, t0);
  s.tick(t0 + wait + 1s);
  EXPECT_EQ(s.a.standing_of(1), standing::waiting) << "one other is not enough";
  s.connect(2, t0 + wait + 2s);
  EXPECT_FALSE(s.a.voters().has(1)) << "now there are two, and one allowed more";
  s.tick(t0 + longer - 1ms);
  EXPECT_FALSE(s.a.voters().has(1));
  for (int i = 0; i < 40; ++i) s.tick(t0 + longer + i * 50ms);
  EXPECT_TRUE(s.a.voters().has(1));
  EXPECT_EQ(s.facts[1].record->max_ttl, raised) << "or a majority may refuse what it allowed";
}

TEST(admission_max_ttl, a_change_that_a_refused_seal_shows_lengthens_the_wait) {
  store s;
  s.connect_all(t0);
  for (node_index i = 1; i < 3; ++i) {
    s.facts[i].record->nonce += " of recover";
    s.facts[i].record->max_ttl = raised;
  }
  s.facts[0].run_id = "run9";
  s.connect(0, t0);
  s.come_back(t0 + wait);
  EXPECT_FALSE(s.seals.empty()) << "nobody has looked at the others since";
  for (int i = 0; i < 40; ++i) s.tick(t0 + wait + i * 50ms);
  EXPECT_FALSE(s.a.voters().has(0)) << "it is known by now what the others allow";
  s.tick(t0 + longer - 1ms);
  EXPECT_FALSE(s.a.voters().has(0));
  for (int i = 0; i < 40; ++i) s.tick(t0 + longer + i * 50ms);
  EXPECT_TRUE(s.a.voters().has(0));
}

TEST(admission_max_ttl, a_server_that_rejoined_with_a_longer_one_is_at_home_for_as_long) {
  store s;
  s.facts[2].record->max_ttl = raised;
  s.facts[1].run_id = "run9";
  s.connect_all(t0);
  ASSERT_EQ(s.facts[1].record->max_ttl, max_ttl) << "marked before node 2 was seen";
  for (int i = 0; i < 40; ++i) s.tick(t0 + longer + i * 50ms);
  ASSERT_TRUE(s.a.voters().has(1));
  const time_point gone = t0 + longer + 3s;
  s.a.disconnected(0, gone);
  s.a.disconnected(1, gone);
  s.facts[0] = s.facts[1];
  s.connect(0, gone + longer - 1ms);
  EXPECT_EQ(s.a.standing_of(0), standing::refused) << "what it granted as node 1 may be held";
  s.connect(0, gone + longer);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted);
}

TEST(admission_max_ttl, of_a_refused_node_says_nothing) {
  store s;
  s.facts[1].record->config_hash = "another";
  s.facts[1].record->max_ttl = raised;
  s.facts[0].run_id = "run9";
  s.connect_all(t0);
  EXPECT_EQ(s.facts[0].record->max_ttl, max_ttl);
}

TEST(admission_max_ttl, of_a_refused_node_says_nothing_while_it_is_away_either) {
  store s(5);
  s.facts[1].record->config_hash = "another";
  s.facts[1].record->max_ttl = raised;
  s.facts[0].run_id = "run9";
  s.connect_all(t0);
  s.a.disconnected(1, t0 + 5s);
  for (int i = 0; i < 20; ++i) s.tick(t0 + wait + i * 50ms);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted) << "it waits by the records of its own store";
  EXPECT_EQ(s.facts[0].record->max_ttl, max_ttl);
}

TEST(admission_max_ttl, blank_nodes_get_no_record_like_that_of_a_refused_one) {
  store s;
  s.facts[0].record->config_hash = "another";
  s.facts[1].record.reset();
  s.facts[2].record.reset();
  s.connect_all(t0);
  s.a.disconnected(0, t0 + 5s);
  s.connect(1, t0 + 5s);
  EXPECT_TRUE(s.writes.empty());
  EXPECT_EQ(s.a.standing_of(1), standing::blank);
}

TEST(admission_max_ttl, of_a_node_that_went_away_counts_on) {
  store s(5);
  s.facts[1].record->max_ttl = raised;
  s.connect_all(t0);
  s.a.disconnected(1, t0);
  s.facts[0].run_id = "run9";
  s.connect(0, t0 + 1s);
  s.come_back(t0 + 1s + wait);
  EXPECT_FALSE(s.a.voters().has(0)) << "it may have granted as much, and that may still be held";
  s.come_back(t0 + 1s + longer);
  EXPECT_TRUE(s.a.voters().has(0));
}

/// By the first of them its wait is over, and it is looked at before the others are known.
TEST(admission_max_ttl, a_program_that_begins_waits_by_the_last_node_that_it_sees) {
  store before;
  before.facts[0].run_id = "run9";
  before.connect_all(t0);
  for (const bool was_raised : {false, true}) {
    store s;
    s.facts = before.facts;
    if (was_raised) s.facts[2].record->max_ttl = raised;
    s.a = admission(
        {.nodes = 3, .max_ttl = max_ttl, .timeout = timeout, .config_hash = "list", .seed = 5},
        before.a.notes());
    for (node_index i = 0; i < 3; ++i) s.connect(i, t0 + wait);
    EXPECT_EQ(s.a.voters().has(0), !was_raised);
    s.tick(t0 + longer - 1ms);
    EXPECT_EQ(s.a.voters().has(0), !was_raised);
    s.come_back(t0 + longer);
    EXPECT_TRUE(s.a.voters().has(0));
  }
}

}  // namespace
}  // namespace holdfast::core::redlock
