// Each switch of rules.hpp that a machine of this folder reads, alone: what it guards is there with
// it and not without it. Those of the nodes' scripts are not the machines' to keep.
#include "core/redlock/rules.hpp"

#include "core/lease.hpp"
#include "core/redlock/attempt.hpp"
#include "core/redlock/owed_release.hpp"
#include "core/redlock/renewal.hpp"
#include "core/redlock/rules_fixture.hpp"
#include "core/start_fixture.hpp"

#include "gtest/gtest.h"

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;

constexpr attempt::config three{.nodes = 3, .ttl = 30s, .timeout = 50ms, .tokens = true};

constexpr std::uint64_t judged = 4;  // The connection to every node.

attempt begun(node_set asked = node_set::all(3)) {
  attempt a(three, asked, t0);
  for_each(asked, [&](node_index i) { a.carried(i, judged, judged); });
  a.start(t0);
  return a;
}

bool a_slow_majority_does_not_lengthen_the_lease() {
  attempt a = begun();
  a.answered(0, node_vote::granted(1), t0 + 5ms);
  a.answered(1, node_vote::granted(1), t0 + 5ms);
  return a.until() == t0 + usable(30s);
}

bool a_single_connected_node_of_three_is_no_majority() {
  attempt a = begun(node_set::only(0));
  a.answered(0, node_vote::granted(1), t0);
  return a.current() == attempt::state::failed;
}

bool a_smaller_counter_is_raised_first() {
  attempt a = begun();
  a.answered(0, node_vote::granted(1), t0);
  a.answered(1, node_vote::granted(2), t0);
  return a.current() == attempt::state::raising;
}

bool a_larger_late_counter_does_not_confirm() {
  attempt a = begun();
  a.answered(0, node_vote::granted(1), t0);
  a.answered(1, node_vote::granted(2), t0);
  a.answered(2, node_vote::granted(3), t0);
  return a.current() != attempt::state::held;
}

bool a_grant_of_another_connection_is_no_vote() {
  attempt a = begun();
  a.carried(0, judged, judged + 1);
  a.answered(0, node_vote::granted(1), t0);
  a.answered(1, node_vote::granted(1), t0);
  return a.current() == attempt::state::asking;
}

bool a_raise_on_another_connection_is_not_done() {
  attempt a = begun();
  a.answered(0, node_vote::granted(1), t0);
  a.answered(1, node_vote::granted(2), t0);
  a.raise_carried(0, token{2}, judged + 1, t0);
  a.raised(0, token{2}, node_vote::granted(), t0);
  return a.current() == attempt::state::raising;
}

renewal::answer ours(bool is) {
  renewal::answer a;
  a.ours.set(0, is);
  return a;
}

struct one_lock {
  explicit one_lock(node_set there = node_set::all(3)) {
    h = r.add(own, there, own.until(), token{1});
    number = r.tick(t0 + 10s).send.at(0).number;
  }
  lease own{t0 + usable(30s)};
  renewal r{{3, 30s}, t0};
  renewal::handle h;
  std::uint64_t number{};
};

bool a_node_that_lost_the_key_stops_counting() {
  one_lock x;
  x.r.answered(x.number, 0, ours(false), t0 + 10s);
  return !x.r.nodes_of(x.h).has(0);
}

bool an_answer_proves_no_later_extension() {
  one_lock x;
  x.r.tick(t0 + 15s);
  for (const node_index i : {0, 1}) x.r.answered(x.number, i, ours(true), t0 + 15s);
  return x.own.until() == t0 + 10s + usable(30s);
}

bool session_and_key_count_on_the_same_nodes() {
  one_lock x(node_set::only(1) | node_set::only(2));
  x.r.answered(x.number, 0, ours(false), t0 + 10s);
  x.r.answered(x.number, 1, ours(true), t0 + 10s);
  return x.own.until() == t0 + usable(30s);
}

bool a_late_grant_is_worth_what_its_attempt_is() {
  one_lock x(node_set::only(0) | node_set::only(1));
  x.r.granted_late(x.h, 2);
  x.r.answered(x.number, 0, ours(true), t0 + 10s);
  return x.own.until() == t0 + usable(30s);
}

bool no_repair_before_a_majority_confirmed() {
  one_lock x;
  return x.r.answered(x.number, 0, ours(false), t0 + 10s).repairs.empty();
}

/// Its acquire went over connection 1.
owed_release owed_by_one(owed_release::trace t) {
  owed_release r({.ttl = 10s, .timeout = 50ms, .seed = 1}, node_set::only(0), t0);
  r.trace_of(0, t);
  r.start(node_set::only(0), t0);
  return r;
}

bool not_there_on_another_connection_settles_nothing() {
  owed_release r = owed_by_one({.connection = 1});
  return !r.answered(0, false, 2, t0).finished;
}

bool deleted_settles_nothing_while_an_older_acquire_may_come() {
  owed_release r = owed_by_one({.connection = 2, .late_until = t0 + 10s});
  return !r.answered(0, true, 2, t0).finished;
}

bool one_node_keeps_no_session() {
  one_lock x;
  x.r.answered(x.number, 0, ours(true), t0 + 10s);
  return x.r.session_until() == time_point::min();
}

constexpr guarded all[] = {
    {"count_from_send", &rules::count_from_send, a_slow_majority_does_not_lengthen_the_lease},
    {"majority_of_configured", &rules::majority_of_configured,
     a_single_connected_node_of_three_is_no_majority},
    {"raise_before_use", &rules::raise_before_use, a_smaller_counter_is_raised_first},
    {"late_counter_never_counts", &rules::late_counter_never_counts,
     a_larger_late_counter_does_not_confirm},
    {"judged_connection_only", &rules::judged_connection_only,
     a_grant_of_another_connection_is_no_vote},
    {"raise_on_same_connection", &rules::raise_on_same_connection,
     a_raise_on_another_connection_is_not_done},
    {"prove_own_attempt", &rules::prove_own_attempt, an_answer_proves_no_later_extension},
    {"drop_lost_nodes", &rules::drop_lost_nodes, a_node_that_lost_the_key_stops_counting},
    {"per_node_deadlines", &rules::per_node_deadlines, session_and_key_count_on_the_same_nodes},
    {"repair_with_majority", &rules::repair_with_majority, no_repair_before_a_majority_confirmed},
    {"settle_behind_acquire", &rules::settle_behind_acquire,
     not_there_on_another_connection_settles_nothing},
    {"settle_after_repair", &rules::settle_after_repair,
     deleted_settles_nothing_while_an_older_acquire_may_come},
    {"late_grant_from_attempt", &rules::late_grant_from_attempt,
     a_late_grant_is_worth_what_its_attempt_is},
    {"session_by_majority", &rules::session_by_majority, one_node_keeps_no_session}};

constexpr std::size_t of_scripts = 3;  // raise_ and acquire_checks_epoch, renew_by_compare.
static_assert(std::size(all) + rules_of_nodes + of_scripts == sizeof(rules) / sizeof(bool),
              "a rule has no test");

struct redlock_rules : guarding_rules {};

TEST_P(redlock_rules, guards_its_behaviour_only_while_it_is_there) { expect_that_it_matters(); }

INSTANTIATE_TEST_SUITE_P(each, redlock_rules, ::testing::ValuesIn(all),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace holdfast::core::redlock
