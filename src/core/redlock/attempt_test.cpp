#include "core/redlock/attempt.hpp"

#include "core/lease.hpp"
#include "core/redlock/node_record.hpp"
#include "core/start_fixture.hpp"

#include "gtest/gtest.h"

#include <vector>

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;
using state = attempt::state;

const std::vector<std::string> addresses{"a:1", "b:2", "c:3", "d:4", "e:5"};

struct round {
  explicit round(std::size_t nodes, bool tokens = true, duration ttl = 30s)
      : round(nodes, tokens, node_set::all(nodes), ttl) {}
  round(std::size_t nodes, bool tokens, node_set asked, duration ttl = 30s)
      : a({.nodes = nodes, .ttl = ttl, .timeout = 50ms, .tokens = tokens}, asked, t0) {
    for_each(asked, [&](node_index i) { a.carried(i, judged, judged); });
    last = a.start(t0);
  }
  round& granted(node_index i, std::uint64_t counter = 0) {
    last = a.answered(i, node_vote::granted(counter), at);
    return *this;
  }
  round& taken(node_index i, duration left = duration::max()) {
    last = a.answered(i, node_vote::taken(left), at);
    return *this;
  }
  round& fails(node_index i, fault f) {
    last = a.answered(i, node_vote::of(f), at);
    return *this;
  }
  round& raised(node_index i, std::uint64_t to) {
    last = a.raised(i, token{to}, node_vote::granted(), at);
    return *this;
  }
  round& raise_refused(node_index i, std::uint64_t to) {
    last = a.raised(i, token{to}, node_vote::taken(), at);
    return *this;
  }
  round& raise_carried(node_index i, std::uint64_t to, std::uint64_t by) {
    last = a.raise_carried(i, token{to}, by, at);
    return *this;
  }
  error why() const { return a.failure("lock \"x\"", addresses); }

  static constexpr std::uint64_t judged = 4;  ///< The connection to every node.
  time_point at{t0 + 1ms};
  attempt a;
  attempt::step last;
};

node_set set_of(std::initializer_list<node_index> nodes) {
  node_set s;
  for (const node_index i : nodes) s.add(i);
  return s;
}

TEST(attempt, is_held_with_the_majority_th_grant_and_counts_from_sending) {
  round r(5, false);
  r.granted(0).granted(1);
  EXPECT_EQ(r.a.current(), state::asking);
  EXPECT_FALSE(r.last.decided);
  r.granted(4);
  EXPECT_TRUE(r.last.decided);
  EXPECT_EQ(r.a.current(), state::held);
  EXPECT_EQ(r.a.until(), t0 + usable(30s));
  EXPECT_TRUE(r.last.release.empty());
}

TEST(attempt, waits_for_nobody_once_it_is_held_and_still_counts_late_grants) {
  round r(3, false);
  r.granted(0).granted(1);
  ASSERT_EQ(r.a.current(), state::held);
  r.granted(2);
  EXPECT_FALSE(r.last.decided) << "said once";
  EXPECT_EQ(r.a.granted(), node_set::all(3));
}

TEST(attempt, fails_as_soon_as_a_majority_is_impossible) {
  round r(5, false);
  r.taken(0).taken(1);
  EXPECT_EQ(r.a.current(), state::asking);
  r.taken(2);
  EXPECT_TRUE(r.last.decided);
  EXPECT_EQ(r.why(), errc::busy);
  EXPECT_EQ(r.why().message(),
            "lock \"x\": held by somebody else (so say 3 of 5 nodes; more need not be heard)");
  EXPECT_EQ(r.last.release, set_of({3, 4})) << "who did not answer may still take it";
}

TEST(attempt, names_a_key_that_nobody_will_ever_release) {
  round r(5, false);
  r.taken(0).taken(1);
  auto v = node_vote::taken();
  v.endless = true;
  r.last = r.a.answered(2, v, r.at);
  EXPECT_NE(r.why().message().find("no ttl: it is no lock"), std::string::npos)
      << r.why().message();
  r.taken(3);
  EXPECT_TRUE(r.a.meets_endless());
}

TEST(attempt, releases_where_it_was_granted_unknown_or_failed_but_not_where_it_was_taken) {
  round r(5, false);
  r.granted(0).taken(1).fails(2, fault::silent).fails(3, fault::disk_error);
  ASSERT_EQ(r.a.current(), state::failed);
  EXPECT_EQ(r.last.release, set_of({0, 2, 3, 4}));
}

TEST(attempt, an_even_number_of_nodes_ends_in_a_tie_at_once) {
  round r(4, false);
  r.granted(0).granted(1).taken(2);
  EXPECT_EQ(r.a.current(), state::asking);
  r.taken(3);
  EXPECT_TRUE(r.last.decided);
  EXPECT_EQ(r.why(), errc::busy);
  EXPECT_EQ(r.last.release, set_of({0, 1}));
}

TEST(attempt, two_of_two_nodes_are_needed) {
  round r(2, false);
  r.granted(0);
  EXPECT_EQ(r.a.current(), state::asking);
  r.granted(1);
  EXPECT_EQ(r.a.current(), state::held);
}

TEST(attempt, the_quorum_is_of_the_configured_nodes_not_of_the_connected) {
  round r(5, false, set_of({0, 1}));
  EXPECT_TRUE(r.last.decided) << "two of five are never enough";
  EXPECT_EQ(r.why(), errc::unavailable);
  EXPECT_NE(r.why().message().find("c:3, d:4 and e:5 each does not vote"), std::string::npos);
  round one(1, false);
  one.granted(0);
  EXPECT_EQ(one.a.current(), state::held);
}

TEST(attempt, a_dead_node_costs_nothing) {
  round r(3, false, set_of({0, 2}));
  r.granted(0).granted(2);
  EXPECT_EQ(r.a.current(), state::held);
}

TEST(attempt, silence_ends_at_the_node_timeout_and_is_released) {
  round r(3, false);
  r.granted(0);
  EXPECT_EQ(r.last.wake, t0 + 50ms);
  EXPECT_FALSE(r.a.tick(t0 + 50ms - 1ns).decided);
  const auto s = r.a.tick(t0 + 50ms);
  EXPECT_TRUE(s.decided);
  EXPECT_EQ(s.release, node_set::all(3));
  EXPECT_EQ(r.why(), errc::unavailable);
  EXPECT_TRUE(r.why().message().ends_with("; b:2 and c:3 each did not answer in time"));
}

TEST(attempt, a_majority_that_comes_after_the_lease_is_not_held) {
  round r(3, false, 100ms);
  r.granted(0);
  r.at = t0 + usable(100ms);
  r.granted(1);
  EXPECT_EQ(r.a.current(), state::failed);
  EXPECT_EQ(r.why(), errc::unavailable);
  EXPECT_NE(r.why().message().find("a ttl of 100ms"), std::string::npos) << r.why().message();
  EXPECT_EQ(r.last.release, node_set::all(3));
}

TEST(attempt, failed_nodes_are_not_called_busy) {
  round r(3, false);
  r.fails(1, fault::out_of_memory).fails(2, fault::loading).taken(0);
  EXPECT_EQ(r.why(), errc::unavailable);
  EXPECT_NE(r.why().message().find("b:2 is out of memory"), std::string::npos);
  round split(5, false);
  split.taken(0).taken(1).fails(2, fault::loading).granted(3).granted(4);
  EXPECT_EQ(split.why(), errc::busy) << "four nodes know who has it";
  EXPECT_NE(split.why().message().find("2 of 5 nodes said so, 2 granted it, needed are 3"),
            std::string::npos);
}

TEST(attempt, a_cancel_releases_everywhere_and_decides_once) {
  round r(3);
  r.granted(0, 1);
  const auto s = r.a.cancel();
  EXPECT_TRUE(s.decided);
  EXPECT_EQ(s.release, node_set::all(3));
  EXPECT_EQ(r.why(), errc::cancelled);
  r.granted(1, 1);
  EXPECT_EQ(r.a.current(), state::failed);
  EXPECT_FALSE(r.a.cancel().decided);
}

TEST(attempt, only_the_first_answer_of_an_asked_node_counts) {
  round r(5, false, set_of({0, 1, 2, 3}));
  r.granted(0).granted(0).granted(0).granted(4);
  EXPECT_EQ(r.a.current(), state::asking);
  EXPECT_EQ(r.a.granted(), set_of({0}));
}

TEST(attempt, equal_counters_need_no_second_round) {
  round r(5);
  r.granted(0, 7).granted(1, 7).granted(2, 7);
  EXPECT_EQ(r.a.current(), state::held);
  EXPECT_EQ(r.a.chosen(), token{7});
  EXPECT_TRUE(r.last.raise.empty());
}

TEST(attempt, the_token_is_the_largest_counter_and_the_others_are_raised_first) {
  round r(3);
  r.granted(0, 1).granted(2, 5);
  EXPECT_EQ(r.a.current(), state::raising);
  EXPECT_EQ(r.a.chosen(), token{5});
  EXPECT_EQ(r.last.raise, set_of({0}));
  r.raised(0, 5);
  EXPECT_TRUE(r.last.decided);
  EXPECT_EQ(r.a.current(), state::held);
  EXPECT_EQ(r.a.confirmed(), set_of({0, 2}));
  round other_order(3);
  other_order.granted(0, 5).granted(2, 1);
  EXPECT_EQ(other_order.a.chosen(), token{5});
  EXPECT_EQ(other_order.last.raise, set_of({2}));
}

TEST(attempt, a_late_counter_above_the_token_is_never_a_confirmation) {
  round r(3);
  r.granted(0, 1).granted(1, 2).granted(2, 3);
  EXPECT_EQ(r.a.current(), state::raising) << "node 2 is above the token 2";
  r.raised(0, 2);
  EXPECT_EQ(r.a.current(), state::held);
  EXPECT_EQ(r.a.confirmed(), set_of({0, 1}));
  EXPECT_EQ(r.a.chosen(), token{2});
  EXPECT_EQ(r.a.granted(), node_set::all(3)) << "for time it counts";
}

TEST(attempt, a_late_counter_that_is_not_above_the_token_is_raised_or_counted) {
  round r(5);
  r.granted(0, 1).granted(1, 1).granted(2, 4);
  EXPECT_EQ(r.last.raise, set_of({0, 1}));
  r.granted(3, 2);
  EXPECT_EQ(r.last.raise, set_of({3}));
  r.granted(4, 4);
  EXPECT_EQ(r.a.current(), state::raising);
  r.raised(3, 4);
  EXPECT_EQ(r.a.current(), state::held);
  EXPECT_EQ(r.a.confirmed(), set_of({2, 3, 4}));
}

TEST(attempt, chooses_a_larger_token_when_too_few_can_be_confirmed) {
  round r(3);
  r.granted(0, 1).granted(1, 2).granted(2, 9);
  r.raise_refused(0, 2);
  EXPECT_EQ(r.a.chosen(), token{9}) << "nodes 1 and 2 hold our value, 2 was not used";
  EXPECT_EQ(r.last.raise, set_of({1}));
  r.raised(1, 2);
  EXPECT_EQ(r.a.current(), state::raising) << "a raise to the earlier token says nothing";
  r.raised(1, 9);
  EXPECT_EQ(r.a.current(), state::held);
  EXPECT_EQ(r.a.confirmed(), set_of({1, 2}));
}

TEST(attempt, a_raise_that_finds_another_value_ends_it_when_no_majority_is_left) {
  round r(3);
  r.granted(0, 1).granted(1, 2).taken(2);
  r.raise_refused(0, 2);
  EXPECT_EQ(r.a.current(), state::failed);
  EXPECT_EQ(r.why(), errc::busy);
  EXPECT_EQ(r.last.release, set_of({0, 1}));
}

TEST(attempt, the_lease_must_still_run_after_the_raise) {
  round r(3, true, 100ms);
  r.granted(0, 1).granted(1, 2);
  r.at = t0 + usable(100ms);
  r.raised(0, 2);
  EXPECT_EQ(r.a.current(), state::failed);
}

TEST(attempt, a_raise_has_a_node_timeout_of_its_own) {
  round r(3);
  r.at = t0 + 40ms;
  r.granted(0, 1).granted(1, 2);
  EXPECT_EQ(r.last.wake, t0 + 90ms);
  EXPECT_FALSE(r.a.tick(t0 + 50ms).decided);
  EXPECT_TRUE(r.a.tick(t0 + 90ms).decided);
}

/// Nobody else has it, or tried to get it.
TEST(attempt, a_raise_that_is_not_answered_is_no_holder) {
  round r(3);
  r.fails(2, fault::unreachable).granted(0, 1).granted(1, 2);
  r.last = r.a.raised(0, token{2}, node_vote::of(fault::silent), t0 + 51ms);
  EXPECT_EQ(r.a.current(), state::failed);
  EXPECT_EQ(r.why(), errc::unavailable);
  EXPECT_NE(r.why().message().find("a:1 did not confirm the token"), std::string::npos);
  round late(3);
  late.fails(2, fault::unreachable).granted(0, 1).granted(1, 2);
  late.last = late.a.tick(t0 + 51ms);
  EXPECT_EQ(late.why(), errc::unavailable);
  EXPECT_NE(late.why().message().find("a:1 did not confirm the token"), std::string::npos);
}

TEST(attempt, counters_out_of_range_are_no_grants) {
  round r(3);
  r.granted(0, 0).granted(1, believable + 1);
  EXPECT_EQ(r.a.current(), state::failed);
  EXPECT_TRUE(r.a.granted().empty());
  EXPECT_EQ(r.last.release, node_set::all(3));
  EXPECT_EQ(round(1).granted(0, believable).a.chosen(), token{believable});
  round others(3);
  others.granted(0, token_max.value).granted(1, 7).granted(2, 7);
  EXPECT_EQ(others.a.chosen(), token{7}) << "or they would have no token left";
}

TEST(attempt, a_grant_of_another_connection_than_was_judged_is_no_vote) {
  round r(3, false);
  r.a.carried(0, 4, 5);
  r.granted(0).granted(1);
  EXPECT_EQ(r.a.current(), state::asking) << "node 0 may be another process, without its locks";
  EXPECT_EQ(r.a.vote_of(0).why, fault::connection_lost);
  r.taken(2);
  EXPECT_EQ(r.a.current(), state::failed);
  EXPECT_EQ(r.last.release, set_of({0, 1})) << "the key is there";
  EXPECT_EQ(r.a.carriers()[0], 5U) << "... and came this way";
  round tokens(3);
  tokens.a.carried(0, 4, 5);
  tokens.granted(0, 9).granted(1, 2);
  EXPECT_EQ(tokens.a.current(), state::asking);
  tokens.granted(2, 2);
  EXPECT_EQ(tokens.a.chosen(), token{2}) << "nor does its counter count";
}

TEST(attempt, a_connection_that_nobody_told_of_is_not_the_judged_one) {
  attempt untold({.nodes = 1, .ttl = 30s, .timeout = 50ms, .tokens = false}, set_of({0}), t0);
  untold.start(t0);
  untold.answered(0, node_vote::granted(), t0);
  EXPECT_EQ(untold.current(), state::failed);
  round none(1, false);
  none.a.carried(0, 0, 0);
  none.granted(0);
  EXPECT_EQ(none.a.current(), state::failed);
}

TEST(attempt, who_says_taken_is_believed_on_every_connection) {
  round r(3, false);
  for (node_index i = 0; i < 2; ++i) r.a.carried(i, 4, 5);
  r.taken(0).taken(1);
  EXPECT_EQ(r.why(), errc::busy);
  EXPECT_EQ(r.last.release, set_of({2}));
}

TEST(attempt, a_late_grant_is_worth_what_an_early_one_is) {
  round r(3, false);
  r.a.carried(2, 4, 5);
  r.granted(0).granted(1);
  ASSERT_EQ(r.a.current(), state::held);
  r.granted(2);
  EXPECT_EQ(r.a.granted(), set_of({0, 1}));
  EXPECT_EQ(r.a.counted(2, node_vote::granted()).why, fault::connection_lost);
  EXPECT_EQ(r.a.counted(1, node_vote::granted()).what, vote::granted);
}

TEST(attempt, a_raise_on_another_connection_than_the_acquire_is_not_done) {
  round r(3);
  r.granted(0, 1).granted(1, 2);
  ASSERT_EQ(r.last.raise, set_of({0}));
  r.raise_carried(0, 2, 5);
  EXPECT_EQ(r.a.current(), state::raising) << "node 2 may still grant";
  r.raised(0, 2);
  EXPECT_EQ(r.a.current(), state::raising) << "what it raised may be a key that was restored";
  r.fails(2, fault::silent);
  EXPECT_EQ(r.why(), errc::unavailable);
  EXPECT_NE(r.why().message().find("a:1 did not confirm the token"), std::string::npos);
  EXPECT_EQ(r.last.release, node_set::all(3));
}

TEST(attempt, a_raise_on_the_connection_of_the_acquire_waits_for_its_answer) {
  round r(3);
  r.granted(0, 1).granted(1, 2).raise_carried(0, 2, round::judged);
  EXPECT_EQ(r.a.current(), state::raising);
  r.raised(0, 2);
  EXPECT_EQ(r.a.current(), state::held);
  round untold(3);
  untold.granted(0, 1).granted(1, 2).taken(2).raise_carried(0, 2, 0);
  EXPECT_EQ(untold.a.current(), state::failed) << "no number, no proof";
}

TEST(attempt, a_node_that_has_lost_our_value_since_protects_nothing) {
  round r(3);
  r.granted(0, 1).granted(1, 2).raise_refused(0, 2).granted(2, 2);
  ASSERT_EQ(r.a.current(), state::held);
  EXPECT_EQ(r.a.granted(), set_of({1, 2}));
}

TEST(attempt, tells_the_longest_holder) {
  round r(5);
  r.last = r.a.answered(0, node_vote::of(fault::epoch_moved, 8), r.at);
  EXPECT_FALSE(r.a.holder_left());
  r.taken(1, 3s).taken(2).taken(3, 9s);
  EXPECT_EQ(r.a.holder_left(), 9s);
  round other_order(5);
  other_order.taken(0, 9s).taken(1, 3s);
  EXPECT_EQ(other_order.a.holder_left(), 9s);
}

TEST(attempt, a_refusal_of_most_nodes_is_named) {
  const auto ends = [](fault f) {
    round r(3);
    r.fails(0, f).fails(1, f);
    return r.why().code();
  };
  EXPECT_EQ(ends(fault::denied), errc::denied);
  EXPECT_EQ(ends(fault::ttl_too_long), errc::invalid_argument);
  EXPECT_EQ(ends(fault::permission), errc::invalid_argument);
  EXPECT_EQ(ends(fault::counter_full), errc::damaged);
  EXPECT_EQ(ends(fault::session_missing), errc::unavailable);
}

TEST(attempt, a_second_answer_of_a_node_changes_nothing) {
  round r(5, false);
  r.granted(0).taken(0).fails(1, fault::connection_lost).granted(1).granted(2).granted(3);
  EXPECT_EQ(r.a.current(), state::held);
  EXPECT_EQ(r.a.granted(), set_of({0, 2, 3}));
  round given_up(3, false);
  given_up.granted(0).taken(0).taken(1).taken(2);
  EXPECT_EQ(given_up.last.release, set_of({0})) << "our value is there";
}

TEST(attempt, a_node_that_was_not_asked_neither_grants_nor_refuses) {
  round r(3, false, set_of({0, 1}));
  r.granted(0).granted(2);
  EXPECT_EQ(r.a.current(), state::asking);
  round other(3, false, set_of({0, 1}));
  other.granted(0).taken(2).fails(1, fault::refused);
  EXPECT_EQ(other.why(), errc::unavailable) << "nobody who was asked has a holder";
}

TEST(attempt, a_raise_that_is_under_way_is_not_sent_again) {
  round r(5);
  r.granted(0, 5).granted(1, 5).granted(2, 7);
  ASSERT_EQ(r.last.raise, set_of({0, 1}));
  r.granted(3, 6);
  EXPECT_EQ(r.last.raise, set_of({3}));
}

TEST(attempt, is_denied_only_by_so_many_that_no_majority_is_left) {
  for (const bool enough : {false, true}) {
    round r(5, false);
    r.fails(0, fault::denied).fails(1, fault::denied);
    r.fails(2, enough ? fault::denied : fault::unreachable);
    EXPECT_EQ(r.why(), enough ? errc::denied : errc::unavailable);
  }
}

TEST(attempt, is_busy_where_all_but_a_spare_could_answer_and_one_has_a_holder) {
  round busy(5, false);
  busy.fails(1, fault::unreachable).fails(2, fault::unreachable).taken(0);
  EXPECT_EQ(busy.why(), errc::busy);
  round silence(5, false);
  silence.taken(0);
  silence.last = silence.a.tick(t0 + 50ms);
  EXPECT_EQ(silence.why(), errc::unavailable) << "one of five may be wrong";
  round robbed(3);
  robbed.granted(0, 5).granted(1, 7).raise_refused(0, 7).fails(2, fault::refused);
  EXPECT_EQ(robbed.why(), errc::busy) << "somebody has it where it was ours";
}

TEST(attempt, a_node_that_is_confirmed_is_not_raised_again) {
  round r(5);
  r.granted(0, 9).granted(1, 4).granted(2, 4);
  ASSERT_EQ(r.last.raise, set_of({1, 2}));
  EXPECT_TRUE(r.raised(1, 9).last.raise.empty());
  EXPECT_EQ(r.granted(3, 3).last.raise, set_of({3}));
}

TEST(attempt, what_a_later_step_wants_is_done_besides) {
  attempt::step s;
  s.raise = set_of({1});
  s.wake = t0;
  attempt::step later;
  later.decided = true;
  later.raise = set_of({2});
  later.release = set_of({0, 1});
  later.wake = t0 + 1s;
  s.add(later);
  EXPECT_TRUE(s.decided);
  EXPECT_EQ(s.raise, set_of({1, 2}));
  EXPECT_EQ(s.release, set_of({0, 1}));
  EXPECT_EQ(s.wake, t0 + 1s);
  s.add({});
  EXPECT_TRUE(s.decided);
  EXPECT_EQ(s.release, set_of({0, 1}));
}

}  // namespace
}  // namespace holdfast::core::redlock
