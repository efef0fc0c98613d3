#include "core/redlock/admission_fixture.hpp"

#include "gtest/gtest.h"

#include <deque>
#include <utility>
#include <vector>

/// How a node that waited is brought back by one of many.

namespace holdfast::core::redlock {
namespace {

/// Node 0 lost its state and its wait is over: all others are asked for a seal, and nobody answers.
store sealing(std::size_t nodes = 3) {
  store s(nodes);
  s.answers_seals = false;
  s.facts[0].run_id = "run9";
  s.connect_all(t0);
  s.come_back(t0 + wait);
  EXPECT_EQ(s.seals.size(), nodes - 1);
  return s;
}

TEST(admission_return, of_many_clients_one_brings_a_node_back) {
  std::deque<store> clients(30);
  std::vector<node_facts> there = clients[0].facts;
  there[0].record.reset();
  const auto in_turn = [&](const auto& what) {
    for (store& c : clients) {
      c.facts = there;
      what(c);
      there = c.facts;
    }
  };
  std::uint64_t seed = 0;
  in_turn([&](store& c) {
    c.a = admission({.nodes = 3,
                     .max_ttl = max_ttl,
                     .timeout = timeout,
                     .config_hash = "list",
                     .seed = ++seed});
    c.connect_all(t0);
  });
  ASSERT_EQ(there[0].record->epoch, 0U);
  const time_point end = t0 + wait + 4 * admission::return_first * timeout;
  for (time_point now = t0 + wait; now < end; now += timeout / 10) {
    in_turn([&](store& c) { c.tick(now); });
  }
  for (const node_facts& f : there) EXPECT_EQ(f.record->epoch, 4U) << "moved once";
  in_turn([&](store& c) { EXPECT_TRUE(c.a.voters().has(0)); });
}

TEST(admission_return, each_waits_for_another_while) {
  const auto looked_after = [](std::uint64_t seed) {
    store s;
    s.a = admission(
        {.nodes = 3, .max_ttl = max_ttl, .timeout = timeout, .config_hash = "list", .seed = seed});
    s.facts[0].run_id = "run9";
    s.connect_all(t0);
    return s.a.tick(t0 + wait).wake - (t0 + wait);
  };
  EXPECT_NE(looked_after(1), looked_after(2));
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    EXPECT_LE(looked_after(seed), admission::return_first * timeout);
  }
}

TEST(admission_return, who_is_looked_at_when_its_wait_is_over_comes_back_at_once) {
  store s;
  s.facts[0].run_id = "run9";
  s.connect_all(t0);
  s.serve(s.a.disconnected(0, t0 + wait - 1s), t0 + wait - 1s);
  s.connect(0, t0 + wait);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted) << "a short program may be the only client";
}

TEST(admission_return, a_program_that_begins_may_look_at_the_lost_node_first) {
  store before;
  before.facts[0].run_id = "run9";
  before.connect_all(t0);
  for (const duration later : {duration{1ms}, timeout, admission::return_first * timeout}) {
    const bool soon = later <= timeout;
    store s;
    s.facts = before.facts;
    s.a = admission(
        {.nodes = 3, .max_ttl = max_ttl, .timeout = timeout, .config_hash = "list", .seed = 5},
        before.a.notes());
    s.connect(0, t0 + wait);
    s.connect(1, t0 + wait);
    EXPECT_EQ(s.a.standing_of(0), standing::waiting) << "too few others";
    s.connect(2, t0 + wait + later);
    EXPECT_EQ(s.a.standing_of(0), soon ? standing::admitted : standing::waiting)
        << "who has been there for longer looks once more, at a moment of its own";
  }
}

/// Of a node of a store where all write down what they grant.
std::vector<seal> seals_after_a_durable_restart(store& s) {
  for (auto& f : s.facts) f.durable = f.record->durable = true;
  s.connect_all(t0);
  s.facts[0].run_id = "run9";
  return s.a.looked_at(0, s.facts[0], s.fresh(), t0).seals;
}

node_set sealed_for(node_index i, const store& s) {
  node_set all;
  for (const seal& x : s.seals) {
    if (x.target == i) all.add(x.node);
  }
  return all;
}

/// Five that write down what they grant, of which the first so many have restarted since.
store five_restarted(node_index restarted) {
  store s(5);
  for (auto& f : s.facts) f.durable = f.record->durable = true;
  for (node_index i = 0; i < restarted; ++i) s.facts[i].run_id += "again";
  return s;
}

TEST(admission_return, who_restarted_is_sealed_for_no_lost_one_before_it_is_back) {
  store s = five_restarted(0);
  s.facts[0].durable = s.facts[0].record->durable = false;
  s.facts[0].run_id = "run9";
  for (const node_index i : {0, 1, 2, 3}) s.connect(i, t0);
  s.a.disconnected(4, t0);
  const time_point now = t0 + wait;
  s.facts[3].run_id = "run8";
  s.answers_seals = false;
  s.connect(3, now);
  ASSERT_EQ(s.a.standing_of(3), standing::joining);
  for (const duration d : {0ms, 50ms, 100ms, 150ms}) s.tick(now + d);
  EXPECT_TRUE(s.seals.empty()) << "its file may be older than what is to be read of it";
  EXPECT_EQ(s.a.explain(0, now), "rejoins when 1 more node that kept its state answers");
  s.answers_seals = true;
  s.tick(now + 200ms);
  EXPECT_EQ(s.a.standing_of(3), standing::admitted) << "alone";
  s.come_back(now + 250ms);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted);
  EXPECT_EQ(sealed_for(0, s).size(), 3U);
}

TEST(admission_return, those_that_restarted_go_by_each_other_at_once) {
  store s = five_restarted(3);
  s.connect_all(t0);
  for (duration d{}; d < timeout && s.a.voters().size() < 5; d += 1ms) s.tick(t0 + d);
  EXPECT_EQ(s.a.voters(), node_set::all(5)) << "nobody waits for who comes back alone";
  EXPECT_EQ(s.facts[0].record->floor, 104U) << "but learns what the others had";
}

TEST(admission_return, a_node_that_is_needed_and_answers_late_delays_and_does_not_prevent_it) {
  store s;
  const auto seals = seals_after_a_durable_restart(s);
  ASSERT_EQ(seals.size(), 2U);
  s.serve(s.a.sealed(seals[0], {seal_reply::result::sealed, 100, 0}, t0 + 1ms), t0 + 1ms);
  for (duration d = timeout; d < 700ms; d += timeout) {
    const auto step = s.a.tick(t0 + d);
    EXPECT_TRUE(step.seals.empty()) << "each would be in a higher epoch";
    EXPECT_TRUE(step.writes.empty()) << "alone it would not know what the others were given";
  }
  EXPECT_EQ(s.a.explain(0, t0 + 700ms), "is being brought back");
  s.serve(s.a.sealed(seals[1], {seal_reply::result::sealed, 100, 0}, t0 + 700ms), t0 + 700ms);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted);
  EXPECT_EQ(s.facts[0].record->epoch, seals[0].epoch);
}

TEST(admission_return, a_late_answer_from_before_another_loss_does_not_bring_it_back) {
  store s(3, true, 100ms);
  for (auto& f : s.facts) f.record->max_ttl = 100ms;
  s.facts[0].run_id = "run9";
  s.connect_all(t0);
  s.answers_seals = false;
  time_point now = t0;
  while (s.seals.empty() && now < t0 + 5s) s.tick(now += 10ms);
  const auto before = std::exchange(s.seals, {});
  ASSERT_EQ(before.size(), 2U);
  // It is lost once more, and there is time for the whole wait.
  s.facts[0].run_id = "run10";
  s.connect(0, now);
  while (s.seals.empty() && now < t0 + 10s) s.tick(now += 10ms);
  ASSERT_EQ(s.seals.size(), 2U);
  ASSERT_EQ(s.seals[0].epoch, before[0].epoch);
  for (const seal& x : before) s.serve(s.a.sealed(x, {seal_reply::result::sealed, 1, 0}, now), now);
  EXPECT_FALSE(s.a.voters().has(0));
}

TEST(admission_return, who_asks_why_a_node_is_not_back_is_told_who_did_not_answer) {
  store s;
  const auto seals = seals_after_a_durable_restart(s);
  ASSERT_EQ(seals.size(), 2U);
  s.a.sealed(seals[0], {seal_reply::result::sealed, 100, 0}, t0 + 1ms);
  s.a.tick(t0 + 2s);
  EXPECT_EQ(s.a.explain(0, t0 + 2s),
            "is being brought back, and was not yet, for of the other nodes 1 more would have had "
            "to answer within 2s");
}

TEST(admission_return, one_that_lags_is_brought_up_by_what_the_others_say_now) {
  store s;
  s.facts[0].record->epoch = 2;
  s.connect_all(t0);
  ASSERT_EQ(s.a.standing_of(0), standing::lagging);
  time_point now = t0;
  node_set asked;
  while (asked.empty() && now < t0 + 5s) asked = s.a.tick(now += 10ms).look;
  ASSERT_EQ(asked, node_set::all(3));
  for (int k = 0; k < 20; ++k)
    EXPECT_TRUE(s.a.tick(now += 10ms).seals.empty()) << "not heard of yet";
  // Another client was first.
  for (auto& f : s.facts) f.record->epoch = 4;
  s.connect_all(now);
  for (int k = 0; k < 100; ++k) s.tick(now += 10ms);
  EXPECT_TRUE(s.seals.empty());
  EXPECT_EQ(s.a.voters().size(), 3U);
}

TEST(admission_return, a_durable_node_is_not_alone_before_the_others_were_tried) {
  const auto restarted = [](store& s) {
    s.facts[0].record->durable = s.facts[0].durable = true;
    s.facts[0].run_id = "run9";
    s.connect(0, t0);
    s.tick(t0 + admission::first_tries - 1ms);
    EXPECT_EQ(s.a.standing_of(0), standing::joining) << "a handshake with far ones takes longer";
    EXPECT_LE(s.wake, t0 + admission::first_tries);
  };
  store far;
  restarted(far);
  far.connect(1, t0 + admission::first_tries - 1ms);
  far.connect(2, t0 + admission::first_tries - 1ms);
  far.come_back(t0 + admission::first_tries);
  EXPECT_FALSE(far.seals.empty()) << "those who came have a say";
  store refused;
  restarted(refused);
  refused.serve(refused.a.disconnected(1, t0 + admission::first_tries - 1ms), t0);
  EXPECT_EQ(refused.a.standing_of(0), standing::joining) << "one more may come";
  refused.serve(refused.a.disconnected(2, t0 + admission::first_tries - 1ms), t0);
  EXPECT_EQ(refused.a.standing_of(0), standing::admitted);
  store silent;
  restarted(silent);
  silent.tick(t0 + admission::first_tries);
  EXPECT_EQ(silent.a.standing_of(0), standing::admitted) << "nobody answers, nobody refuses";
}

TEST(admission_return, the_answer_to_a_seal_of_an_earlier_life_says_nothing_of_this_one) {
  using result = seal_reply::result;
  for (const seal_reply& late :
       {seal_reply{result::sealed, 0, 0}, seal_reply{result::refused, 0, 8},
        seal_reply{result::refused, 0, 0}}) {
    store s;
    s.answers_seals = false;
    s.facts[0].run_id = "run9";
    s.connect_all(t0);
    s.come_back(t0 + wait);
    ASSERT_EQ(s.seals.size(), 2U);
    ASSERT_EQ(s.seals[0].node, 1U);
    // Another client named a loss of node 1, and brought it back.
    s.facts[1].record->nonce = "by another";
    s.connect(1, t0 + wait + 1s);
    s.a.sealed(s.seals[0], late, t0 + wait + 1s);
    EXPECT_EQ(s.a.facts_of(1).record->epoch, 3U);
    EXPECT_EQ(s.a.standing_of(1), standing::admitted);
  }
}

TEST(admission_return, who_answers_a_seal_with_no_epoch_counts_no_more_until_it_was_looked_at) {
  store s = sealing();
  const auto after =
      s.a.sealed(s.seals[0], {seal_reply::result::refused, 0, token_max.value}, t0 + wait + 1s);
  EXPECT_TRUE(after.look.has(1));
  EXPECT_FALSE(s.a.voters().has(1));
}

/// Between two of them a program does nothing.
TEST(admission_return, whatever_brings_a_node_back_is_done_when_it_asks_to_be_woken) {
  enum class how { lost, stepped, behind, apart, alone };
  for (const how out : {how::lost, how::stepped, how::behind, how::apart, how::alone}) {
    store s(5);
    node_facts& f = s.facts[0];
    if (out == how::stepped) f.record->kept_epoch = std::exchange(f.record->epoch, 0U);
    if (out == how::behind || out == how::apart) f.record->epoch = 2;
    if (out == how::alone) f.durable = f.record->durable = true;
    if (out == how::lost || out == how::alone) f.run_id = "run9";
    // Those of two epochs meet, and the last one finds a majority that is too small to be sealed.
    const node_index others = out == how::apart ? 3 : 5;
    for (node_index i = 0; i < 5; ++i) {
      const bool away = i >= others || (out == how::alone && i >= 3);
      if (away) s.a.disconnected(i, t0);
      if (!away) s.connect(i, t0);
    }
    time_point now = t0;
    for (int i = 0; i < 200 && !s.a.voters().has(0); ++i) {
      ASSERT_LT(s.wake, time_point::max()) << static_cast<int>(out);
      now = std::max(now, s.wake);
      s.tick(now);
    }
    EXPECT_TRUE(s.a.voters().has(0)) << static_cast<int>(out);
  }
}

TEST(admission_return, the_answer_to_a_seal_takes_back_nothing_that_was_seen_since) {
  store s = sealing(5);
  ASSERT_EQ(s.seals[0].epoch, 4U);
  s.facts[1].record->epoch = 9;
  const time_point later = t0 + wait + 1s;
  s.connect(1, later);
  s.a.sealed(s.seals[0], {seal_reply::result::sealed, 100, 0}, later);
  EXPECT_EQ(s.a.facts_of(1).record->epoch, 9U);
}

TEST(admission_return, the_answer_to_a_seal_for_who_is_gone_by_then_changes_nothing_else) {
  store s = sealing();
  s.a.disconnected(0, t0 + wait + 1s);
  const auto after = s.a.sealed(s.seals[0], {seal_reply::result::sealed, 100, 0}, t0 + wait + 1s);
  EXPECT_TRUE(after.writes.empty());
  EXPECT_EQ(s.a.facts_of(1).record->epoch, 4U);
}

/// Else all clients that looked at it while it waited would bring it back at one moment.
TEST(admission_return, a_look_while_it_waits_is_not_the_last_one) {
  store s;
  s.facts[0].run_id = "run9";
  s.connect_all(t0);
  s.connect(0, t0 + wait / 2);
  s.tick(t0 + wait);
  EXPECT_TRUE(s.seals.empty());
  EXPECT_GT(s.wake, t0 + wait);
}

TEST(admission_return, nobody_who_answers_no_seal_ends_what_it_was_sent_for) {
  store s = sealing();
  for (int i = 0; i < 100 && s.seals.size() == 2; ++i) {
    ASSERT_LT(s.wake, time_point::max());
    s.tick(s.wake);
  }
  EXPECT_EQ(s.seals.size(), 4U);
}

}  // namespace
}  // namespace holdfast::core::redlock
