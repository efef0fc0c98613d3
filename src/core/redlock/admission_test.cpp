#include "core/redlock/admission_fixture.hpp"

#include "gtest/gtest.h"

namespace holdfast::core::redlock {
namespace {

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
  s.come_back(t0 + wait);
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
  s.come_back(t0 + 1s + wait);
  EXPECT_EQ(s.a.standing_of(1), standing::admitted);
}

/// Node 0 loses its record, this client names that, and it votes again.
time_point rejoined(store& s, duration how_long) {
  s.facts[0].record.reset();
  s.serve(s.a.doubted(0, t0), t0);
  s.come_back(t0 + how_long);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted);
  return t0 + how_long + admission::return_first * timeout;
}

TEST(admission, a_copy_of_a_record_that_this_client_wrote_is_refused) {
  for (const bool restarted : {false, true}) {
    store s;
    for (auto& f : s.facts) f.durable = f.record->durable = true;
    s.connect_all(t0);
    const auto now = rejoined(s, wait);
    if (restarted) s.a.disconnected(0, now);
    s.a.disconnected(1, now);
    s.facts[1] = s.facts[0];
    s.facts[1].run_id = "run9";
    s.connect(1, now);
    for (int i = 0; i < 20; ++i) s.tick(now + i * 50ms);
    EXPECT_EQ(s.a.standing_of(1), standing::refused);
  }
}

TEST(admission, a_server_is_at_home_for_the_max_ttl_that_this_client_wrote) {
  store s;
  for (auto& f : s.facts) f.record->max_ttl = 10 * max_ttl;
  s.connect_all(t0);
  const auto now = rejoined(s, takeover_after(10 * max_ttl));
  s.a.disconnected(0, now);
  s.a.disconnected(1, now);
  s.facts[1] = s.facts[0];
  s.connect(1, now + wait);
  EXPECT_EQ(s.a.standing_of(1), standing::refused) << "what node 0 granted may still count";
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
  s.come_back(t0 + 50s + wait);
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
  life_notes known;
  known.recall("nonce0", t0 - 59s);
  s.a = admission({.nodes = 3, .max_ttl = max_ttl, .timeout = 50ms, .config_hash = "list"}, known);
  s.connect_all(t0);
  EXPECT_EQ(s.a.standing_of(0), standing::waiting);
  s.come_back(t0 - 59s + wait);
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
  s.a.disconnected(2, t0 + 1ms);
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
  EXPECT_EQ(s.a.looked_at(0, s.facts[0], "", t0).seals.size(), 2U);
  s.a.tick(t0 + 1s);
  EXPECT_TRUE(s.a.disconnected(1, t0 + 1s).writes.empty());
  EXPECT_TRUE(s.a.tick(t0 + 1199ms).writes.empty());
  EXPECT_EQ(s.a.tick(t0 + 1200ms).writes.size(), 1U);
}

TEST(admission, a_durable_node_is_not_alone_before_the_seals_for_it_are_over) {
  store s;
  s.facts[0].record->durable = s.facts[0].durable = true;
  s.facts[0].run_id = "run9";
  s.connect(1, t0);
  s.connect(2, t0);
  const auto seals = s.a.looked_at(0, s.facts[0], "", t0).seals;
  ASSERT_EQ(seals.size(), 2U);
  s.a.disconnected(1, t0 + 10ms);
  // The client stood still until then.
  std::size_t writes = s.a.tick(t0 + 1s).writes.size();
  for (const seal& x : seals) {
    writes += s.a.sealed(x, {seal_reply::result::sealed, 7, 0}, t0 + 1s).writes.size();
  }
  EXPECT_EQ(writes + s.a.tick(t0 + 10s).writes.size(), 1U) << "one record at a time";
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
  says(refused([](node_facts& f) { f.record->id = "id1"; }), "DEL holdfast:node on the copy");
  const std::string other = refused([](node_facts& f) { f.record->config_hash = "more"; });
  says(other, "belongs to another list of nodes. The nodes that vote have this one");
  says(other, "DEL holdfast:node on it");
  EXPECT_EQ(other.find("recover"), std::string::npos) << "who votes need not stop for it";
}

TEST(admission, one_epoch_for_all_votes) {
  store s(5);
  for (node_index i = 0; i < 2; ++i) s.facts[i].record->epoch = 8;
  for (node_index i = 0; i < 4; ++i) {
    s.a.looked_at(i, s.facts[i], "", t0);
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

TEST(admission, pauses_for_longer_where_others_move_the_epoch_meanwhile) {
  store s(5);
  s.facts[4].record->epoch = 2;
  s.connect_all(t0);
  const time_point moved = t0 + 190ms;
  for (node_index i = 0; i < 4; ++i) {
    s.facts[i].record->epoch = 4;
    s.connect(i, moved);
  }
  for (time_point t = moved; t < moved + 400ms; t += 10ms) s.tick(t);
  EXPECT_TRUE(s.seals.empty()) << "whoever moved it is bringing it up";
  for (time_point t = moved + 400ms; t < moved + 1s; t += 10ms) s.tick(t);
  EXPECT_EQ(s.a.voters().size(), 5U) << "nobody did";
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

TEST(admission, nodes_that_exchange_their_servers_vote_again_when_no_grant_can_count_twice) {
  store s(5);
  s.connect_all(t0);
  s.a.disconnected(0, t0 + 1s);
  s.a.disconnected(1, t0 + 1s);
  std::swap(s.facts[0], s.facts[1]);
  s.connect(0, t0 + 2s);
  s.connect(1, t0 + 2s);
  EXPECT_EQ(s.a.voters().size(), 3U);
  s.connect(0, t0 + 1s + wait - 1ns);
  EXPECT_EQ(s.a.standing_of(0), standing::refused)
      << "a grant of then is still counted as node 1's";
  s.connect(0, t0 + 1s + wait);
  s.connect(1, t0 + 1s + wait);
  EXPECT_EQ(s.a.voters().size(), 5U);
}

TEST(admission, a_server_is_at_home_as_long_as_its_own_record_let_it_grant) {
  store s;
  for (node_facts& f : s.facts) f.record->max_ttl = 10 * max_ttl;
  s.connect_all(t0);
  for (const node_index i : {0U, 1U}) s.a.disconnected(i, t0);
  const node_facts first = s.facts[0];
  s.facts[0].master = false;
  s.facts[0].record.reset();
  s.connect(0, t0);
  ASSERT_EQ(s.a.standing_of(0), standing::refused) << "its name leads to a replica";
  s.facts[1] = first;
  s.connect(1, t0 + wait);
  EXPECT_EQ(s.a.standing_of(1), standing::refused) << "what node 0 granted may still count";
  s.connect(1, t0 + takeover_after(10 * max_ttl));
  EXPECT_EQ(s.a.standing_of(1), standing::admitted);
}

TEST(admission, a_server_is_at_home_where_it_was_though_another_one_is_there_now) {
  store s;
  s.connect_all(t0);
  s.a.disconnected(1, t0);
  s.a.disconnected(0, t0 + wait);
  std::swap(s.facts[0], s.facts[1]);
  s.connect(0, t0 + wait);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted) << "node 1 was there a longest ttl ago";
  s.connect(1, t0 + wait);
  EXPECT_EQ(s.a.standing_of(1), standing::refused) << "it granted as node 0 a moment ago";
  s.connect(1, t0 + 2 * wait - 1ns);
  EXPECT_EQ(s.a.standing_of(1), standing::refused);
  s.connect(1, t0 + 2 * wait);
  EXPECT_EQ(s.a.standing_of(1), standing::admitted);
}

TEST(admission, a_server_that_comes_home_is_there_as_ever) {
  store s;
  s.connect_all(t0);
  const node_facts own = s.facts[0];
  s.a.disconnected(0, t0);
  s.facts[0].record->id = "another";
  s.facts[0].run_id = s.facts[0].record->run_id = "run9";
  s.connect(0, t0);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted);
  s.a.disconnected(0, t0);
  s.facts[0] = own;
  s.connect(0, t0);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted) << "what it granted was granted as node 0";
  s.facts[1] = own;
  s.connect(1, t0 + 9 * wait);
  EXPECT_EQ(s.a.standing_of(1), standing::refused) << "it is there still";
}

TEST(admission, a_server_that_votes_as_one_node_is_no_other_however_long) {
  store s;
  s.connect_all(t0);
  s.a.disconnected(1, t0 + 1s);
  s.facts[1] = s.facts[0];
  s.connect(1, t0 + 1s + 9 * wait);
  EXPECT_EQ(s.a.standing_of(1), standing::refused);
}

TEST(admission, who_is_refused_is_connected_to_anew) {
  store s;
  s.connect_all(t0);
  s.a.disconnected(1, t0);
  const node_facts right = std::exchange(s.facts[1], s.facts[0]);
  s.connect(1, t0);
  ASSERT_LT(s.wake, t0 + 1min);
  EXPECT_TRUE(s.a.tick(s.wake - 1ns).reconnect.empty());
  EXPECT_TRUE(s.a.tick(s.wake).reconnect.has(1));
  s.a.disconnected(1, s.wake);
  EXPECT_TRUE(s.a.tick(s.wake + 1min).reconnect.empty()) << "it is not there";
  s.facts[1] = right;
  s.connect(1, s.wake + 1min);
  EXPECT_EQ(s.a.voters().size(), 3U);
}

TEST(admission, a_node_that_is_behind_is_brought_up_without_a_wait) {
  store s(5);
  s.facts[4].record->epoch = 2;
  s.connect_all(t0);
  for (int i = 0; i < 20 && s.a.voters().size() < 5; ++i) s.tick(t0 + i * 50ms);
  EXPECT_EQ(s.a.voters().size(), 5U);
  EXPECT_EQ(s.a.epoch(), 4U);
}

TEST(admission, a_node_that_is_behind_is_left_alone_while_too_few_others_are_there) {
  store s(5);
  s.facts[0].record->epoch = 2;
  s.connect(0, t0);
  s.connect(1, t0);
  for (int i = 0; i < 40; ++i) s.tick(t0 + i * 50ms);
  EXPECT_TRUE(s.writes.empty() && s.seals.empty()) << "nothing that could be written brings it up";
  EXPECT_EQ(s.a.explain(0, t0 + 2s), "rejoins when 2 more nodes that kept their state answer");
  s.connect(2, t0 + 2s);
  s.connect(3, t0 + 2s);
  for (int i = 40; i < 100; ++i) s.tick(t0 + i * 50ms);
  EXPECT_EQ(s.a.voters().size(), 4U);
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
  EXPECT_TRUE(s.writes.empty());
  store fresh(3, false);
  fresh.a = admission(
      {.nodes = 3, .tokens = false, .assume_fresh = true, .max_ttl = max_ttl, .timeout = 50ms});
  fresh.connect_all(t0);
  EXPECT_EQ(fresh.a.voters().size(), 3U);
}

TEST(admission, with_tokens_off_a_durable_process_keeps_the_locks_of_a_durable_one) {
  store s(3, false);
  for (auto& f : s.facts) f.record.reset();
  s.facts[2].durable = true;
  s.connect_all(t0);
  EXPECT_TRUE(s.a.voters().empty()) << "nobody knows what was there before";
  s.tick(t0 + wait);
  const auto restart = [&](node_index i, const char* run_id, bool durable, time_point now) {
    s.facts[i].run_id = run_id;
    s.facts[i].durable = durable;
    s.connect(i, now);
  };
  restart(1, "run9", true, t0 + 100s);
  restart(2, "run8", true, t0 + 100s);
  EXPECT_FALSE(s.a.voters().has(1)) << "the one before synced nothing";
  EXPECT_TRUE(s.a.voters().has(2));
  restart(1, "run7", true, t0 + 101s);
  EXPECT_FALSE(s.a.voters().has(1)) << "it has no more than the one that waited";
  s.tick(t0 + 100s + wait);
  EXPECT_TRUE(s.a.voters().has(1));
  restart(2, "run6", false, t0 + 300s);
  EXPECT_FALSE(s.a.voters().has(2));
}

TEST(admission, a_majority_that_recover_brought_back_is_seen_by_who_stayed_connected) {
  store s;
  s.connect_all(t0);
  for (node_index i = 0; i < 3; ++i) {
    s.a.disconnected(i, t0);
    s.facts[i].run_id += "b";
    s.connect(i, t0);
  }
  EXPECT_EQ(s.facts[0].record->epoch, 0U) << "its loss is named";
  // Of what `recover` writes nobody is notified.
  for (node_index i = 0; i < 3; ++i) {
    s.facts[i].record->nonce = "recovered" + std::to_string(i);
    s.facts[i].record->epoch = 1'000'000;
  }
  for (duration d = 0s; d < 3s; d += 1s) s.tick(t0 + d);
  EXPECT_EQ(s.a.voters(), node_set::all(3));
}

}  // namespace
}  // namespace holdfast::core::redlock
