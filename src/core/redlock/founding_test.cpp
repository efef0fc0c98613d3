#include "core/redlock/founding.hpp"

#include <holdfast/token.hpp>

#include "gtest/gtest.h"

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;

const founding::config settings{.config_hash = "list", .max_ttl = 60s};
constexpr server_time wall{1'700'000'000s};

std::vector<founding::node> blank(std::size_t n) {
  std::vector<founding::node> all(n);
  for (std::size_t i = 0; i < n; ++i) {
    all[i].answered = true;
    all[i].facts.address = "host" + std::to_string(i);
    all[i].facts.run_id = "run" + std::to_string(i);
    all[i].at = wall + server_time{static_cast<std::int64_t>(i)};
    all[i].fresh = "fresh" + std::to_string(i);
  }
  return all;
}

node_record old_record(std::uint64_t floor, std::uint64_t epoch) {
  node_record r;
  r.id = "old";
  r.nonce = "nonce";
  r.floor = floor;
  r.epoch = epoch;
  r.config_hash = "list";
  return r;
}

bool says(const error& e, const char* word) { return e.message().find(word) != std::string::npos; }

TEST(founding, init_writes_every_node_in_one_epoch_from_the_latest_clock) {
  const auto plan = founding::plan_init(settings, blank(3));
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->size(), 3U);
  for (const write& w : *plan) {
    EXPECT_TRUE(w.nonce_seen.empty()) << "only while there is no record";
    EXPECT_EQ(w.record.epoch, 1'700'000'000'000'002U) << "above all of a store that was here";
    EXPECT_EQ(w.record.floor, 1'700'000'000'000'002U);
    EXPECT_EQ(w.record.run_id, "run" + std::to_string(w.node));
    EXPECT_EQ(w.record.max_ttl, 60s);
  }
  EXPECT_NE((*plan)[0].record.id, (*plan)[1].record.id);
}

TEST(founding, init_refuses_a_store_that_is_there_or_not_complete) {
  auto nodes = blank(3);
  nodes[1].facts.record = old_record(5, 1);
  EXPECT_TRUE(says(founding::plan_init(settings, nodes).error(), "host1 has a node record"));
  nodes = blank(3);
  nodes[2].answered = false;
  EXPECT_EQ(founding::plan_init(settings, nodes).error(), errc::unavailable);
  EXPECT_TRUE(says(founding::plan_init(settings, nodes).error(), "host2 did not answer"));
  nodes[0].facts.record = old_record(5, 1);
  EXPECT_TRUE(says(founding::plan_init(settings, nodes).error(), "set up already"))
      << "the nearer cause";
}

TEST(founding, all_nodes_that_cannot_be_used_are_named_at_once) {
  auto nodes = blank(5);
  nodes[0].facts.master = nodes[3].facts.standalone = false;
  for (const auto plan : {&founding::plan_init, &founding::plan_recover}) {
    const error e = plan(settings, nodes).error();
    EXPECT_TRUE(says(e, "host0 is a replica") && says(e, "host3 is a sentinel")) << e.message();
  }
  nodes[1].answered = false;
  nodes[2].facts.unsafe = "drops keys";
  const error all = founding::plan_init(settings, nodes).error();
  EXPECT_EQ(all.code(), errc::invalid_argument);
  EXPECT_TRUE(says(all, "host0 is a replica") && says(all, "host2 drops keys") &&
              says(all, "host1 did not answer"))
      << all.message();
  nodes = blank(5);
  nodes[1].answered = nodes[4].answered = false;
  const error e = founding::plan_init(settings, nodes).error();
  EXPECT_TRUE(says(e, "host1 did not answer; host4 did not answer. init needs")) << e.message();
}

TEST(founding, a_node_that_refuses_us_is_not_said_to_be_silent) {
  auto nodes = blank(3);
  nodes[1].answered = nodes[2].answered = false;
  nodes[2].trouble = nodes[1].trouble = "host:1: WRONGPASS";
  for (const auto plan : {&founding::plan_init, &founding::plan_recover}) {
    const error e = plan(settings, nodes).error();
    EXPECT_EQ(e.code(), errc::unavailable);
    EXPECT_TRUE(says(e, "cannot be used: host:1: WRONGPASS")) << e.message();
    EXPECT_FALSE(says(e, "did not answer")) << e.message();
  }
}

TEST(founding, what_several_nodes_say_is_said_once) {
  auto nodes = blank(4);
  for (const std::size_t i : {1U, 2U, 3U}) {
    nodes[i].answered = false;
    nodes[i].trouble = "redis node host" + std::to_string(i) + ": cannot connect";
  }
  nodes[3].trouble = "redis node host3: WRONGPASS";
  const error e = founding::plan_init(settings, nodes).error();
  EXPECT_TRUE(says(e,
                   "cannot be used: redis nodes host1 and host2 each: cannot connect; redis "
                   "node host3: WRONGPASS. init needs"))
      << e.message();
}

TEST(founding, replicas_and_duplicates_are_refused) {
  auto nodes = blank(3);
  nodes[2].facts.run_id = "run0";
  EXPECT_TRUE(says(founding::plan_init(settings, nodes).error(), "same server as host0"));
  nodes = blank(3);
  nodes[0].facts.master = false;
  EXPECT_TRUE(says(founding::plan_recover(settings, nodes).error(), "replica"));
  EXPECT_EQ(founding::plan_init(settings, {}).error(), errc::invalid_argument);
}

TEST(founding, recover_goes_above_everything_that_is_left) {
  auto nodes = blank(5);
  nodes[0].facts.record = old_record(1'900'000'000'000'000, 7);
  nodes[4].answered = false;
  const auto plan = founding::plan_recover(settings, nodes);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->size(), 4U);
  for (const write& w : *plan) {
    EXPECT_EQ(w.record.floor, 1'900'000'000'000'000U);
    EXPECT_EQ(w.record.epoch, 1'900'000'000'000'000U);
  }
  EXPECT_EQ((*plan)[0].nonce_seen, "nonce");
  EXPECT_EQ((*plan)[0].record.nonce, "fresh0") << "what was under way there is refused";
  EXPECT_EQ((*plan)[0].record.id, "old");
}

TEST(founding, nodes_of_another_list_are_taken_over_only_when_that_is_asked_for) {
  auto nodes = blank(3);
  nodes[1].facts.record = old_record(5, 7);
  nodes[1].facts.record->config_hash = "theirs";
  const error at_first = founding::plan_init(settings, nodes).error();
  EXPECT_TRUE(says(at_first, "host1 has a node record of a store with another list"));
  EXPECT_FALSE(says(at_first, "recover")) << "that would take the node from its store";
  const auto refused = founding::plan_recover(settings, nodes);
  EXPECT_EQ(refused.error(), errc::invalid_argument);
  EXPECT_TRUE(says(refused.error(), "another list of nodes: host1. "));
  auto asked = settings;
  asked.other_list = true;
  ASSERT_TRUE(founding::plan_recover(asked, nodes));
  EXPECT_EQ((*founding::plan_recover(asked, nodes))[1].record.config_hash, "list");
  nodes[1].answered = false;
  EXPECT_TRUE(founding::plan_recover(settings, nodes)) << "what it was says nothing of what it is";
}

TEST(founding, a_node_of_another_list_is_a_reason_of_its_own) {
  auto nodes = blank(3);
  for (auto& n : nodes) {
    n.votes = true;
    n.facts.record = old_record(7, 1);
    n.facts.record->max_ttl = settings.max_ttl;
  }
  nodes[2].votes = false;
  nodes[2].facts.record->config_hash = "theirs";
  auto asked = settings;
  asked.other_list = true;
  const auto plan = founding::plan_recover(asked, nodes);
  ASSERT_TRUE(plan) << "it never comes back by itself";
  EXPECT_EQ(plan->size(), 3U);
}

TEST(founding, a_new_epoch_and_floor_are_above_those_of_every_node_wherever_it_is_listed) {
  auto nodes = blank(3);
  nodes[0].at = wall + 9s;
  auto plan = founding::plan_recover(settings, nodes).value();
  for (const write& w : plan) EXPECT_EQ(w.record.floor, 1'700'000'009'000'000U);
  for (const write& w : plan) EXPECT_EQ(w.record.epoch, 1'700'000'009'000'000U);
  for (auto& n : nodes) n.facts.record = old_record(5, 1);
  nodes[0].facts.record->floor = 1'800'000'000'000'000U;
  plan = founding::plan_recover(settings, nodes).value();
  for (const write& w : plan) EXPECT_EQ(w.record.floor, 1'800'000'000'000'000U);
}

TEST(founding, a_store_has_as_many_nodes_as_a_client_can_ask) {
  EXPECT_TRUE(founding::plan_init(settings, blank(nodes_max)));
  EXPECT_EQ(founding::plan_init(settings, blank(nodes_max + 1)).error(), errc::invalid_argument);
  EXPECT_EQ(founding::plan_init(settings, {}).error(), errc::invalid_argument);
}

TEST(founding, recover_needs_a_majority) {
  auto nodes = blank(4);
  nodes[0].answered = nodes[1].answered = false;
  EXPECT_EQ(founding::plan_recover(settings, nodes).error(), errc::unavailable);
}

TEST(founding, recover_leaves_alone_what_a_majority_holds) {
  auto nodes = blank(5);
  for (auto& n : nodes) {
    n.facts.record = old_record(7, 1);
    n.facts.record->max_ttl = settings.max_ttl;
  }
  for (std::size_t i = 0; i < 3; ++i) nodes[i].votes = true;
  const auto refused = founding::plan_recover(settings, nodes);
  ASSERT_FALSE(refused) << "what hosts 3 and 4 lost would be granted again";
  EXPECT_EQ(refused.error(), errc::busy);
  EXPECT_TRUE(says(refused.error(), "3 of 5")) << refused.error().message();
  EXPECT_TRUE(says(refused.error(), "host3, host4")) << refused.error().message();
  nodes[4].facts.record.reset();
  EXPECT_EQ(founding::plan_recover(settings, nodes).error(), errc::busy) << "a new machine, too";
  nodes[2].votes = false;
  EXPECT_TRUE(founding::plan_recover(settings, nodes)) << "no majority votes";
}

TEST(founding, recover_writes_nothing_where_all_vote_and_nothing_changes) {
  auto nodes = blank(3);
  for (auto& n : nodes) {
    n.votes = true;
    n.facts.record = old_record(7, 1);
    n.facts.record->max_ttl = settings.max_ttl;
  }
  const auto plan = founding::plan_recover(settings, nodes);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->empty());
  auto longer = settings;
  longer.max_ttl = 2 * settings.max_ttl;
  EXPECT_TRUE(founding::plan_recover(longer, nodes)->empty()) << "a URL may name another one";
  auto same = settings;
  same.changes_max_ttl = true;
  EXPECT_TRUE(founding::plan_recover(same, nodes)->empty()) << "all have what is asked for";
  longer.changes_max_ttl = true;
  EXPECT_EQ(founding::plan_recover(longer, nodes)->size(), 3U) << "that is how max_ttl is changed";
}

TEST(founding, recover_changes_max_ttl_only_where_all_that_answer_vote) {
  auto nodes = blank(5);
  for (auto& n : nodes) {
    n.votes = true;
    n.facts.record = old_record(7, 1);
  }
  auto longer = settings;
  longer.max_ttl = 2 * settings.max_ttl;
  longer.changes_max_ttl = true;
  EXPECT_EQ(founding::plan_recover(longer, nodes)->size(), 5U);
  nodes[3].votes = false;
  const auto refused = founding::plan_recover(longer, nodes);
  ASSERT_FALSE(refused) << "what host 3 lost would be granted again while it is held";
  EXPECT_EQ(refused.error(), errc::busy);
  EXPECT_TRUE(says(refused.error(), "host3 comes back by itself")) << refused.error().message();
  nodes[3].answered = false;
  EXPECT_EQ(founding::plan_recover(longer, nodes)->size(), 4U) << "it has no new record to vote by";
  longer.changes_max_ttl = false;
  for (auto& n : nodes) n.facts.record->max_ttl = longer.max_ttl;
  EXPECT_TRUE(says(founding::plan_recover(longer, nodes).error(), "host3 does not answer"));
}

TEST(founding, recover_takes_an_epoch_that_no_restored_counter_has) {
  auto nodes = blank(5);
  // What all of them came back with was named as lost: the epochs are gone, older counters are not.
  for (auto& n : nodes) n.facts.record = old_record(5, 0);
  const auto first = founding::plan_recover(settings, nodes).value();
  for (const write& w : first) EXPECT_EQ(w.record.epoch, 1'700'000'000'000'004U);
  // A clock that was behind an epoch, or a step of a clock that was not written yet.
  nodes[1].facts.record->epoch = 1'700'000'000'000'009;
  nodes[2].facts.record->kept_epoch = 1'700'000'000'000'010;
  const auto next = founding::plan_recover(settings, nodes).value();
  for (const write& w : next) EXPECT_EQ(w.record.epoch, 1'700'000'000'000'011U);
}

TEST(founding, recover_leaves_epochs_for_all_seals_to_come) {
  auto nodes = blank(3);
  nodes[0].facts.record = old_record(token_max.value - 1, token_max.value);
  nodes[1].facts.record = old_record(5, 7);
  const auto plan = founding::plan_recover(settings, nodes);
  ASSERT_TRUE(plan);
  for (const write& w : *plan) EXPECT_EQ(w.record.epoch, 1'700'000'000'000'002U);
  EXPECT_EQ((*plan)[0].epoch_seen, token_max.value) << "or the write would not replace it";
}

TEST(founding, recover_heeds_no_floor_that_would_use_up_the_tokens) {
  auto nodes = blank(3);
  nodes[0].facts.record = old_record(believable + 1, 3);
  nodes[1].facts.record = old_record(1'900'000'000'000'000, 3);
  const auto plan = founding::plan_recover(settings, nodes);
  ASSERT_TRUE(plan);
  for (const write& w : *plan) EXPECT_EQ(w.record.floor, 1'900'000'000'000'000U);
}

TEST(founding, a_clock_in_the_far_future_does_not_use_up_the_tokens) {
  auto nodes = blank(1);
  nodes[0].at = server_time{static_cast<std::int64_t>(token_max.value)};
  const auto plan = founding::plan_init(settings, nodes);
  ASSERT_TRUE(plan);
  EXPECT_EQ((*plan)[0].record.floor, 0U);
  EXPECT_EQ((*plan)[0].record.epoch, 1U) << "zero is none";
}

TEST(founding, a_record_says_what_its_node_is_like_now) {
  auto nodes = blank(2);
  nodes[0].facts.durable = true;
  const auto plan = founding::plan_init(settings, nodes);
  ASSERT_TRUE(plan);
  for (const write& w : *plan) {
    EXPECT_EQ(w.record.durable, w.node == 0);
    EXPECT_EQ(w.record.last_time, nodes[w.node].at);
  }
}

}  // namespace
}  // namespace holdfast::core::redlock
