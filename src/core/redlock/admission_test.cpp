#include "core/redlock/admission.hpp"

#include "core/lease.hpp"

#include "gtest/gtest.h"

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;
using standing = admission::standing;

const time_point t0{1000s};
constexpr duration max_ttl = 60s;
const duration wait = takeover_after(max_ttl);

node_record record_of(node_index i, std::uint64_t epoch = 3) {
  node_record r;
  r.id = "id" + std::to_string(i);
  r.nonce = "nonce" + std::to_string(i);
  r.epoch = epoch;
  r.run_id = "run" + std::to_string(i);
  r.floor = 100 + i;
  r.max_ttl = max_ttl;
  r.config_hash = "list";
  return r;
}

node_facts healthy(node_index i, std::uint64_t epoch = 3) {
  node_facts f;
  f.address = "host" + std::to_string(i);
  f.run_id = "run" + std::to_string(i);
  f.record = record_of(i, epoch);
  return f;
}

/// A store whose nodes do at once what is asked of them.
struct store {
  explicit store(std::size_t nodes = 3, bool tokens = true)
      : a({.nodes = nodes,
           .tokens = tokens,
           .max_ttl = max_ttl,
           .timeout = 50ms,
           .config_hash = "list",
           .seed = 5}) {
    for (node_index i = 0; i < nodes; ++i) facts.push_back(healthy(i));
  }
  void connect(node_index i, time_point now) { serve(a.found(i, facts[i], fresh(), now), now); }
  void connect_all(time_point now) {
    for (node_index i = 0; i < facts.size(); ++i) connect(i, now);
  }
  std::string fresh() { return "fresh" + std::to_string(++nonces); }
  void tick(time_point now) { serve(a.tick(now), now); }

  void serve(const admission::step& s, time_point now) {
    wake = s.wake;
    for (const write& w : s.writes) {
      writes.push_back(w);
      auto& there = facts[w.node].record;
      const bool same = there ? there->nonce == w.nonce_seen && there->epoch == w.epoch_seen
                              : w.nonce_seen.empty();
      if (same) there = w.record;
      serve(a.written(w.node, same ? write_reply::written : write_reply::changed, now), now);
    }
    for (const seal& x : s.seals) {
      seals.push_back(x);
      auto& there = *facts[x.node].record;
      seal_reply r{seal_reply::result::refused, 0, there.epoch};
      if (there.nonce == x.nonce && there.epoch < x.epoch) {
        r = {seal_reply::result::sealed, there.floor, 0};
        there.epoch = x.epoch;
      }
      serve(a.sealed(x, r, now), now);
    }
    for_each(s.look, [&](node_index i) { connect(i, now); });
  }

  admission a;
  std::vector<node_facts> facts;
  std::vector<write> writes;
  std::vector<seal> seals;
  time_point wake;
  int nonces{};
};

TEST(admission, nodes_with_their_records_vote_at_once) {
  store s;
  s.connect(0, t0);
  EXPECT_EQ(s.a.voters(), node_set::only(0));
  EXPECT_FALSE(s.a.verdict(t0));
  s.connect(2, t0);
  EXPECT_TRUE(s.a.verdict(t0));
  EXPECT_EQ(s.a.epoch(), 3U);
  EXPECT_EQ(s.a.ballot_of(2).nonce, "nonce2");
  s.a.disconnected(2, t0);
  EXPECT_EQ(s.a.voters(), node_set::only(0));
  EXPECT_TRUE(s.writes.empty() && s.seals.empty());
}

TEST(admission, a_restart_without_durability_waits_then_seals_then_votes) {
  store s;
  s.facts[0].run_id = "run9";
  s.connect_all(t0);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
  ASSERT_EQ(s.writes.size(), 1U) << "the loss is named";
  EXPECT_EQ(s.writes[0].nonce_seen, "nonce0");
  EXPECT_EQ(s.facts[0].record->epoch, 0U) << "no script grants there, for any client";
  EXPECT_EQ(s.facts[0].record->nonce, "fresh1");
  EXPECT_EQ(s.a.voters().size(), 2U);
  s.tick(t0 + wait - 1ns);
  EXPECT_TRUE(s.seals.empty());
  s.tick(t0 + wait);
  EXPECT_EQ(s.seals.size(), 2U);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted);
  EXPECT_EQ(s.facts[0].record->epoch, 4U);
  EXPECT_EQ(s.facts[0].record->floor, 102U) << "the largest of all";
  EXPECT_EQ(s.facts[0].record->run_id, "run9");
  EXPECT_EQ(s.a.voters().size(), 3U);
  EXPECT_EQ(s.a.epoch(), 4U);
}

TEST(admission, a_flush_is_seen_by_the_missing_record) {
  store s;
  s.connect_all(t0);
  s.facts[1].record.reset();
  s.serve(s.a.doubted(1, t0 + 1s), t0 + 1s);
  EXPECT_EQ(s.a.standing_of(1), standing::waiting);
  EXPECT_EQ(s.writes.at(0).nonce_seen, "");
  EXPECT_EQ(s.facts[1].record->max_ttl, max_ttl) << "a constant of the store";
  s.tick(t0 + 1s + wait);
  EXPECT_EQ(s.a.standing_of(1), standing::admitted);
}

TEST(admission, a_second_loss_waits_anew) {
  store s;
  s.facts[0].record.reset();
  s.connect_all(t0);
  s.facts[0].record.reset();
  s.connect(0, t0 + 50s);
  EXPECT_EQ(s.facts[0].record->nonce, "fresh4") << "another name: the old sight does not count";
  s.tick(t0 + wait);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
  s.tick(t0 + 50s + wait);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted);
}

TEST(admission, a_restart_that_restores_the_waiting_record_is_a_second_loss) {
  store s;
  s.facts[0].record.reset();
  s.connect_all(t0);
  s.facts[0].run_id = "run9";
  s.connect(0, t0 + 50s);
  EXPECT_EQ(s.facts[0].record->nonce, "fresh4");
  s.tick(t0 + wait);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
}

TEST(admission, an_earlier_process_of_this_host_shortens_the_wait) {
  store s;
  s.facts[0].record = record_of(0, 0);
  first_sights known;
  known.recall("nonce0", t0 - 59s);
  s.a = admission({.nodes = 3, .max_ttl = max_ttl, .timeout = 50ms, .config_hash = "list"}, known);
  s.connect_all(t0);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
  s.tick(t0 - 59s + wait);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted);
}

TEST(admission, a_durable_restart_seals_and_votes_without_a_wait) {
  store s;
  for (auto& f : s.facts) f.record->durable = f.durable = true;
  s.connect(1, t0);
  s.connect(2, t0);
  s.facts[0].run_id = "run9";
  s.connect(0, t0);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted);
  EXPECT_EQ(s.seals.size(), 2U);
  EXPECT_EQ(s.facts[0].record->nonce, "nonce0") << "its locks are still there";
}

TEST(admission, a_node_that_became_durable_only_now_waits) {
  store s;
  s.facts[0].run_id = "run9";
  s.facts[0].durable = true;
  s.connect_all(t0);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
}

TEST(admission, all_nodes_durable_and_restarted_come_back_by_themselves) {
  store s;
  for (auto& f : s.facts) {
    f.record->durable = f.durable = true;
    f.run_id += "again";
  }
  s.connect_all(t0);
  for (int i = 0; i < 20 && s.a.voters().size() < 3; ++i) s.tick(t0 + i * 50ms);
  EXPECT_EQ(s.a.voters().size(), 3U);
  EXPECT_TRUE(s.a.verdict(t0));
}

TEST(admission, a_durable_node_with_too_few_others_votes_with_its_own_record) {
  store s;
  s.facts[0].record->durable = s.facts[0].durable = true;
  s.facts[0].run_id = "run9";
  s.connect(0, t0);
  s.connect(1, t0);
  s.tick(t0 + 100ms);
  EXPECT_EQ(s.a.standing_of(0), standing::joining) << "others may still come";
  s.tick(t0 + 200ms);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted);
  EXPECT_EQ(s.facts[0].record->run_id, "run9");
  EXPECT_EQ(s.facts[0].record->epoch, 3U);
  store one(1);
  one.facts[0].record->durable = one.facts[0].durable = true;
  one.facts[0].run_id = "run9";
  one.connect(0, t0);
  EXPECT_EQ(one.a.standing_of(0), standing::admitted);
}

TEST(admission, a_durable_node_is_alone_only_when_the_others_were_missing_all_the_time) {
  store s;
  s.facts[0].record->durable = s.facts[0].durable = true;
  s.facts[0].run_id = "run9";
  s.connect(1, t0);
  s.connect(2, t0);
  // The seals are not answered, and both others are there.
  EXPECT_EQ(s.a.found(0, s.facts[0], "", t0).seals.size(), 2U);
  s.a.tick(t0 + 1s);
  EXPECT_TRUE(s.a.disconnected(1, t0 + 1s).writes.empty());
  EXPECT_TRUE(s.a.tick(t0 + 1199ms).writes.empty());
  EXPECT_EQ(s.a.tick(t0 + 1200ms).writes.size(), 1U);
}

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
  EXPECT_NE(text.find("Run: holdfast redlock recover"), std::string::npos);
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
  s.a.found(1, s.facts[1], "", later);
  EXPECT_EQ(s.a.explain(0, later), "rejoins when 1 more node that kept its state answers");
  s.a.found(2, s.facts[2], "", later);
  EXPECT_EQ(s.a.explain(0, later), "is being brought back");
}

TEST(admission, a_node_that_is_away_is_named_once_and_by_its_address) {
  store s;
  s.connect(1, t0);
  const std::vector<std::string> away{"a:1: cannot connect", "b:2", "c:3: wrong password"};
  EXPECT_EQ(s.a.verdict(t0, away).error().message(),
            "1 of 3 nodes vote, needed are 2; a:1: cannot connect; c:3: wrong password");
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
  EXPECT_NE(s.a.verdict(t0).error().message().find("redlock init"), std::string::npos);
}

TEST(admission, a_minority_of_two_comes_back_one_after_the_other) {
  store s(5);
  s.facts[0].record.reset();
  s.facts[3].record.reset();
  s.connect_all(t0);
  EXPECT_EQ(s.a.voters().size(), 3U);
  for (int i = 0; i < 20; ++i) s.tick(t0 + wait + i * 50ms);
  EXPECT_EQ(s.a.voters().size(), 5U);
}

TEST(admission, replicas_copies_duplicates_and_other_lists_never_vote) {
  const auto refused = [](auto&& change) {
    store s;
    s.connect(1, t0);
    s.connect(2, t0);
    change(s.facts[0]);
    s.connect(0, t0);
    EXPECT_EQ(s.a.voters().size(), 2U);
    EXPECT_TRUE(s.writes.empty());
    EXPECT_EQ(s.a.standing_of(0), standing::refused);
    return s.a.explain(0, t0);
  };
  const auto says = [](const std::string& text, const char* word) {
    EXPECT_NE(text.find(word), std::string::npos) << text;
  };
  says(refused([](node_facts& f) { f.master = false; }), "replica");
  says(refused([](node_facts& f) { f.standalone = false; }), "sentinel");
  says(refused([](node_facts& f) { f.run_id = "run2"; }), "same server as host2");
  says(refused([](node_facts& f) { f.record->id = "id1"; }), "copy");
  says(refused([](node_facts& f) { f.record->config_hash = "more"; }), "same spelling");
}

TEST(admission, one_epoch_for_all_votes) {
  store s(5);
  for (node_index i = 0; i < 2; ++i) s.facts[i].record->epoch = 8;
  for (node_index i = 0; i < 4; ++i) {
    s.a.found(i, s.facts[i], "", t0);
  }
  EXPECT_EQ(s.a.voters().size(), 2U) << "two are in epoch 8, two in 3";
  EXPECT_EQ(s.a.epoch(), 8U);
}

TEST(admission, a_node_that_somebody_else_brings_up_is_not_sealed_for) {
  store s(5);
  s.facts[4].record->epoch = 2;
  s.connect_all(t0);
  EXPECT_EQ(s.a.standing_of(4), standing::lagging);
  EXPECT_TRUE(s.seals.empty()) << "who did it may only not be done yet";
  s.facts[4].record->epoch = 3;
  for (int i = 0; i < 40; ++i) s.tick(t0 + i * 50ms);
  EXPECT_TRUE(s.seals.empty()) << "it was looked at once more";
  EXPECT_EQ(s.a.voters().size(), 5U);
  EXPECT_EQ(s.a.epoch(), 3U);
}

TEST(admission, a_server_that_is_known_by_another_address_is_not_counted_twice) {
  for (const bool restarted : {false, true}) {
    store s;
    s.connect_all(t0);
    s.a.disconnected(0, t0 + 1s);
    s.a.disconnected(1, t0 + 1s);
    s.facts[1] = s.facts[0];
    if (restarted) s.facts[1].run_id = "run9";
    s.connect(1, t0 + 2s);
    EXPECT_EQ(s.a.standing_of(1), standing::refused) << "a proxy leads to node 0";
    s.connect(0, t0 + 3s);
    EXPECT_EQ(s.a.standing_of(0), standing::admitted);
  }
}

TEST(admission, a_node_that_is_behind_is_brought_up_without_a_wait) {
  store s(5);
  s.facts[4].record->epoch = 2;
  s.connect_all(t0);
  for (int i = 0; i < 20 && s.a.voters().size() < 5; ++i) s.tick(t0 + i * 50ms);
  EXPECT_EQ(s.a.voters().size(), 5U);
  EXPECT_EQ(s.a.epoch(), 4U);
}

TEST(admission, a_clock_step_puts_the_node_out_like_a_restart) {
  store s;
  s.connect_all(t0);
  const server_time wall{1'700'000'000s};
  s.serve(s.a.told_time(0, wall, t0, t0 + 1ms), t0);
  EXPECT_EQ(s.a.voters().size(), 3U);
  s.serve(s.a.told_time(0, wall + 3600s, t0 + 1s, t0 + 1s + 1ms), t0 + 1s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
  EXPECT_EQ(s.facts[0].record->floor, 100U) << "it lost no counters";
  s.tick(t0 + 1s + 1ms + wait);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted);
  // The name that this connection had to give is used; the next step still puts it out.
  const time_point t1 = t0 + 100s;
  s.serve(s.a.told_time(0, wall + 3600s + 99s, t1, t1 + 1ms), t1);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted);
  s.serve(s.a.told_time(0, wall, t1 + 1s, t1 + 1s + 1ms), t1 + 1s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
}

TEST(admission, a_clock_step_is_remembered_until_it_is_recorded) {
  store s;
  s.connect_all(t0);
  const server_time wall{1'700'000'000s};
  s.serve(s.a.told_time(0, wall, t0, t0 + 1ms), t0);
  // Somebody's seal comes before the write, which then finds another epoch.
  s.facts[0].record->epoch = 4;
  s.serve(s.a.told_time(0, wall + 3600s, t0 + 1s, t0 + 1s + 1ms), t0 + 1s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting) << "looked at again, and then recorded";
  EXPECT_EQ(s.writes.size(), 2U);
}

TEST(admission, a_clock_step_of_a_node_that_is_away_counts_when_it_is_back) {
  store s;
  s.connect_all(t0);
  const server_time wall{1'700'000'000s};
  s.serve(s.a.told_time(0, wall, t0, t0 + 1ms), t0);
  s.a.doubted(0, t0 + 1s);
  // The answer to an earlier request comes before the node was looked at.
  s.serve(s.a.told_time(0, wall + 3600s, t0 + 1s, t0 + 1s + 1ms), t0 + 1s);
  s.connect(0, t0 + 1s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
}

TEST(admission, a_clock_step_that_somebody_else_recorded_is_not_recorded_again) {
  store s;
  s.connect_all(t0);
  const server_time wall{1'700'000'000s};
  s.serve(s.a.told_time(0, wall, t0, t0 + 1ms), t0);
  s.a.disconnected(0, t0 + 1s);
  // Meanwhile its clock stepped, another client saw it, waited, and brought it back.
  s.facts[0].record->nonce = "by another";
  s.facts[0].record->epoch = 4;
  s.facts[0].record->last_time = wall + 3600s + 150s;
  s.connect(0, t0 + 200s);
  s.serve(s.a.told_time(0, wall + 3800s, t0 + 200s, t0 + 200s + 1ms), t0 + 200s);
  EXPECT_TRUE(s.writes.empty()) << "a second loss of the same step, perhaps that of a majority";
  s.serve(s.a.told_time(0, wall + 9999s, t0 + 201s, t0 + 201s + 1ms), t0 + 201s);
  EXPECT_EQ(s.writes.size(), 1U) << "the next step is another";
}

TEST(admission, a_clock_step_after_the_recorded_one_is_seen_at_the_first_look) {
  store s;
  s.connect_all(t0);
  const server_time wall{1'700'000'000s};
  s.serve(s.a.told_time(0, wall, t0, t0 + 1ms), t0);
  s.a.disconnected(0, t0 + 1s);
  s.facts[0].record->nonce = "by another";
  s.facts[0].record->last_time = wall + 150s;
  s.connect(0, t0 + 200s);
  s.serve(s.a.told_time(0, wall + 3800s, t0 + 200s, t0 + 200s + 1ms), t0 + 200s);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
}

TEST(admission, with_tokens_off_a_new_process_waits_from_its_first_sight) {
  store s(3, false);
  for (auto& f : s.facts) f.record.reset();
  s.connect_all(t0);
  EXPECT_TRUE(s.a.voters().empty());
  EXPECT_EQ(s.wake, t0 + wait);
  EXPECT_NE(s.a.explain(0, t0).find("assume_fresh=yes"), std::string::npos);
  EXPECT_EQ(s.a.explain(0, t0).find("lost"), std::string::npos) << "nobody knows that";
  s.tick(t0 + wait);
  EXPECT_EQ(s.a.voters().size(), 3U);
  s.facts[1].run_id = "run9";
  s.connect(1, t0 + 100s);
  EXPECT_EQ(s.a.voters().size(), 2U);
  s.facts[2].run_id = "run8";
  s.facts[2].durable = true;
  s.connect(2, t0 + 100s);
  EXPECT_EQ(s.a.voters().size(), 2U) << "durable: its keys are there";
  EXPECT_TRUE(s.writes.empty());
  store fresh(3, false);
  fresh.a = admission(
      {.nodes = 3, .tokens = false, .assume_fresh = true, .max_ttl = max_ttl, .timeout = 50ms});
  fresh.connect_all(t0);
  EXPECT_EQ(fresh.a.voters().size(), 3U);
}

TEST(admission, with_tokens_off_a_clock_step_waits) {
  store s(1, false);
  s.facts[0].durable = true;
  s.connect_all(t0);
  s.a.told_time(0, server_time{0}, t0, t0 + 1ms);
  s.a.told_time(0, 3600s, t0 + 1s, t0 + 1s);
  EXPECT_TRUE(s.a.voters().empty());
  EXPECT_EQ(s.a.explain(0, t0 + 2s).find("assume_fresh"), std::string::npos) << "no help here";
  s.connect(0, t0 + 2s);
  EXPECT_TRUE(s.a.voters().empty()) << "a reconnection does not forget it";
  s.tick(t0 + 1s + wait);
  EXPECT_EQ(s.a.voters().size(), 1U);
}

}  // namespace
}  // namespace holdfast::core::redlock
