#include "core/redlock/admission_fixture.hpp"

#include "gtest/gtest.h"

namespace holdfast::core::redlock {
namespace {

TEST(admission, a_single_node_that_lost_its_state_needs_an_operator) {
  store s(1);
  s.facts[0].run_id = "run9";
  s.connect_all(t0);
  s.tick(t0 + wait);
  s.tick(t0 + wait + 10s);
  EXPECT_TRUE(s.a.voters().empty());
  EXPECT_NE(s.a.verdict(t0).error().message().find("redlock recover"), std::string::npos);
}

TEST(admission, a_majority_without_state_needs_an_operator) {
  store s(5);
  for (node_index i = 0; i < 3; ++i) s.facts[i].record.reset();
  s.connect_all(t0);
  s.tick(t0 + wait);
  s.tick(t0 + wait + 10s);
  EXPECT_EQ(s.a.voters().size(), 2U);
  ASSERT_FALSE(s.a.verdict(t0 + wait));
  const std::string text = s.a.verdict(t0).error().message();
  EXPECT_NE(text.find("host0, host1 and host2 each lost its state. Waiting"), std::string::npos);
  EXPECT_NE(text.find("begin anew: holdfast redlock recover"), std::string::npos);
  EXPECT_TRUE(s.a.verdict(t0).error().needs_operator());
  EXPECT_EQ(s.a.explain(0, t0), "lost its state") << "no time that seems worth waiting for";
}

TEST(admission, recover_is_named_as_soon_as_nobody_who_is_away_can_help) {
  store s(5);
  for (node_index i = 0; i < 3; ++i) s.facts[i].record.reset();
  for (const node_index i : {3U, 0U, 1U}) s.connect(static_cast<node_index>(i), t0);
  const auto names_recover = [&] {
    return s.a.verdict(t0).error().message().find("redlock recover") != std::string::npos;
  };
  EXPECT_FALSE(names_recover()) << "the two others may have kept their state";
  EXPECT_NE(s.a.explain(0, t0).find("does not vote for"), std::string::npos);
  s.connect(2, t0);
  EXPECT_TRUE(names_recover());
}

TEST(admission, how_many_others_a_rejoin_lacks_is_counted_when_it_is_asked) {
  store s(5);
  s.facts[0].record.reset();
  s.connect(4, t0);
  s.connect(0, t0);
  s.tick(t0 + wait);
  const time_point later = t0 + wait;
  EXPECT_EQ(s.a.explain(0, later), "rejoins when 2 more nodes that kept their state answer");
  s.a.looked_at(1, s.facts[1], "", later);
  EXPECT_EQ(s.a.explain(0, later), "rejoins when 1 more node that kept its state answers");
  s.a.looked_at(2, s.facts[2], "", later);
  EXPECT_EQ(s.a.explain(0, later), "is being brought back");
}

TEST(admission, a_node_that_is_away_is_named_once_and_by_its_address) {
  store s;
  s.connect(1, t0);
  const std::vector<std::string> away{"a:1: cannot connect", "b:2", "c:3: wrong password"};
  EXPECT_EQ(s.a.verdict(t0, away).error().message(),
            "1 of 3 nodes vote, needed are 2; a:1: cannot connect; c:3: wrong password");
  EXPECT_FALSE(s.a.verdict(t0, away).error().needs_operator()) << "they may come back";
}

TEST(admission, a_replica_among_blank_nodes_is_to_be_taken_out_before_init) {
  store s;
  for (auto& f : s.facts) f.record.reset();
  s.facts[2].master = false;
  s.connect_all(t0);
  const error e = s.a.verdict(t0).error();
  EXPECT_EQ(e.code(), errc::invalid_argument);
  EXPECT_NE(e.message().find("host2 is a replica"), std::string::npos);
  EXPECT_NE(e.message().find("take it out of the list"), std::string::npos);
  EXPECT_EQ(e.message().find("redlock init"), std::string::npos);
}

TEST(admission, a_store_without_any_record_is_not_set_up) {
  store s;
  for (auto& f : s.facts) f.record.reset();
  s.connect_all(t0);
  EXPECT_TRUE(s.writes.empty()) << "init must find it blank";
  EXPECT_EQ(s.a.standing_of(1), standing::blank);
  EXPECT_EQ(s.a.verdict(t0).error().code(), errc::not_initialised);
  const std::string text = s.a.verdict(t0).error().message();
  EXPECT_NE(text.find(". Run: holdfast redlock init."), std::string::npos);
  EXPECT_NE(text.find("stop the holders"), std::string::npos) << "it may have lost everything";
  EXPECT_TRUE(s.a.verdict(t0).error().needs_operator());
}

TEST(admission, a_wait_that_others_must_end_says_so_from_the_start) {
  store s;
  s.connect_all(t0);
  s.facts[0].run_id = "run9";
  s.connect(0, t0);
  EXPECT_EQ(s.a.explain(0, t0).find("nor before"), std::string::npos);
  s.a.disconnected(1, t0);
  EXPECT_NE(s.a.explain(0, t0).find("nor before 1 more node that kept its state answers"),
            std::string::npos)
      << s.a.explain(0, t0);
}

TEST(admission, a_client_with_another_list_than_most_nodes_is_told_to_use_theirs) {
  store s;
  for (auto& f : s.facts) f.record->config_hash = "hash";
  s.connect_all(t0);
  const std::string text = s.a.explain(0, t0);
  for (const char* part : {"belongs to another list of nodes. Use the same nodes",
                           "in the same spelling", "where no client is to use that list any more",
                           "then run: holdfast redlock recover --other-list"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_EQ(text.find("hash"), std::string::npos) << "it tells nobody anything";
}

TEST(admission, another_list_is_told_by_what_differs_where_that_is_known) {
  store s;
  s.a = admission({.nodes = 3,
                   .max_ttl = max_ttl,
                   .timeout = 50ms,
                   .config_hash = "list",
                   .difference = [](const std::string& hash) { return "which is " + hash; }});
  s.facts[0].record->config_hash = "more";
  s.connect(0, t0);
  const std::string text = s.a.explain(0, t0);
  EXPECT_NE(text.find("another list of nodes, which is more. Use"), std::string::npos) << text;
}

}  // namespace
}  // namespace holdfast::core::redlock
