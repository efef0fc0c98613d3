// As rules_test.cpp, of the rules by which nodes vote, lose their votes and come back.
#include "core/lease.hpp"
#include "core/redlock/admission.hpp"
#include "core/redlock/clock_watch.hpp"
#include "core/redlock/founding.hpp"
#include "core/redlock/rejoin.hpp"
#include "core/redlock/rules.hpp"
#include "core/redlock/rules_fixture.hpp"
#include "core/start_fixture.hpp"

#include "gtest/gtest.h"

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;

rejoin::config lost(time_point ready) {
  rejoin::config c;
  c.nodes = 5;
  c.ready = ready;
  c.timeout = 50ms;
  return c;
}

bool floors_are_read_after_the_wait() {
  rejoin r(lost(t0 + 1s));
  return r.tick({{1, "a", 1}, {2, "b", 1}, {3, "c", 1}}, t0).seals.empty();
}

bool one_other_is_too_few_to_learn_from() {
  rejoin r(lost(t0));
  return r.tick({{1, "a", 1}}, t0).seals.empty();
}

node_facts facts(node_index i) {
  node_facts f;
  f.run_id = "run" + std::to_string(i);
  f.record = node_record{.id = "id" + std::to_string(i),
                         .nonce = "nonce" + std::to_string(i),
                         .epoch = 1,
                         .run_id = f.run_id,
                         .max_ttl = 60s,
                         .config_hash = "list"};
  return f;
}

admission of_three() {
  return admission({.nodes = 3, .max_ttl = 60s, .timeout = 50ms, .config_hash = "list", .seed = 1});
}

bool a_node_without_its_record_is_stopped() {
  admission a = of_three();
  a.looked_at(0, facts(0), "x", t0);
  node_facts f = facts(1);
  f.record.reset();
  const auto s = a.looked_at(1, f, "y", t0);
  return s.writes.at(0).record.epoch == 0;
}

time_point waits_until() {
  admission a = of_three();
  // Else it is looked at meanwhile: an operator may bring it back.
  for (const node_index i : {1, 2}) a.looked_at(i, facts(i), "x", t0);
  node_facts f = facts(0);
  f.record->epoch = 0;
  return a.looked_at(0, f, "x", t0).wake;
}

bool the_wait_is_there() { return waits_until() > t0 + 10s; }
bool the_wait_is_all_of_it() { return waits_until() == t0 + takeover_after(60s); }

node_facts without_state(node_index i) {
  node_facts f = facts(i);
  f.record->epoch = 0;
  return f;
}

/// What is sent for node 0 when its wait is over: behind one more look at it.
std::vector<seal> seals_after(time_point wait, admission& a) {
  a.tick(wait);
  const time_point looked = wait + admission::return_first * 50ms;
  a.tick(looked);
  return a.looked_at(0, without_state(0), "w", looked).seals;
}

node_facts allowing(node_index i, duration max_ttl) {
  node_facts f = facts(i);
  f.record->max_ttl = max_ttl;
  return f;
}

/// Node 0 lost its state and its record is older than a change that node 1 has.
admission with_an_older_record() {
  admission a = of_three();
  a.looked_at(1, allowing(1, 600s), "x", t0);
  a.looked_at(2, facts(2), "x", t0);
  a.looked_at(0, without_state(0), "y", t0);
  return a;
}

bool the_wait_is_by_the_longest_of_all_records() {
  return with_an_older_record().tick(t0).wake == t0 + takeover_after(600s);
}

bool a_record_that_is_seen_later_lengthens_the_wait() {
  admission a = of_three();
  a.looked_at(1, facts(1), "x", t0);
  a.looked_at(0, without_state(0), "y", t0);
  const time_point then = t0 + takeover_after(60s);
  a.looked_at(2, allowing(2, 600s), "z", then);
  return seals_after(then, a).empty();
}

bool a_rejoin_writes_the_longest_of_all_records() {
  admission a = with_an_older_record();
  const time_point then = t0 + takeover_after(600s);
  std::vector<write> writes;
  for (const seal& s : seals_after(then, a)) {
    writes = a.sealed(s, {seal_reply::result::sealed, 1, 0}, then).writes;
  }
  return writes.at(0).record.max_ttl == 600s;
}

bool who_rejoins_begins_an_epoch() {
  rejoin r(lost(t0));
  return r.tick({{1, "a", 4}, {2, "b", 4}, {3, "c", 4}}, t0).seals.at(0).epoch == 5;
}

bool a_node_in_another_epoch_does_not_vote() {
  admission a = of_three();
  for (node_index i = 0; i < 3; ++i) {
    node_facts f = facts(i);
    f.record->epoch += i / 2;
    a.looked_at(i, f, "x", t0);
  }
  return !a.voters().has(2);
}

bool a_node_that_lost_state_is_not_sealed() {
  admission a = of_three();
  for (node_index i = 0; i < 2; ++i) {
    a.looked_at(i, without_state(i), "x" + std::to_string(i), t0);
  }
  a.looked_at(2, facts(2), "y", t0);
  return seals_after(t0 + takeover_after(60s), a).empty();
}

bool a_node_that_restarted_is_not_sealed_for_a_lost_one() {
  admission a = of_three();
  node_facts f = facts(1);
  f.durable = f.record->durable = true;
  f.run_id = "run9";
  const time_point now = t0 + takeover_after(60s);
  a.looked_at(0, without_state(0), "x", t0);
  a.looked_at(2, facts(2), "y", t0);
  a.looked_at(1, f, "z", now);
  return seals_after(now, a).empty();
}

bool recover_begins_an_epoch_of_its_own() {
  std::vector<founding::node> nodes(3);
  for (node_index i = 0; i < 3; ++i) {
    nodes[i].answered = true;
    nodes[i].facts = facts(i);
    nodes[i].facts.record->epoch = 0;  // Its loss was named; the counters are of epochs before.
    nodes[i].at = 1'700'000'000s;
  }
  return founding::plan_recover({.config_hash = "list", .max_ttl = 60s}, nodes)
             ->at(0)
             .record.epoch > 1;
}

bool a_stepped_clock_puts_the_node_out() {
  admission a = of_three();
  a.looked_at(0, facts(0), "x", t0);
  a.on_time(0, server_time{0}, t0, t0);
  a.on_time(0, 3600s, t0 + 1s, t0 + 1s);
  return a.voters().empty();
}

bool a_record_that_another_wrote_is_no_step() {
  admission a = of_three();
  node_facts f = facts(0);
  f.asked = t0;
  a.looked_at(0, f, "x", t0);
  a.on_time(0, 1000s, t0, t0);
  a.on_time(0, 1010s, t0 + 10s, t0 + 10s);
  f.record->nonce = "by another";
  f.record->last_time = 1007s;
  f.asked = t0 + 11s;
  a.looked_at(0, f, "y", t0 + 11s);
  return a.on_time(0, 1011s, t0 + 11s, t0 + 11s).writes.empty();
}

bool the_answer_to_an_earlier_write_is_not_taken_for_a_later_one() {
  admission a = of_three();
  a.looked_at(1, facts(1), "x", t0);
  node_facts f = facts(0);
  f.run_id = "another process";
  const write first = a.looked_at(0, f, "y", t0).writes.at(0);
  a.looked_at(0, f, "z", t0);
  a.written(first, write_reply::written, t0);
  return a.standing_of(0) == admission::standing::marking;
}

bool what_an_operator_may_have_written_is_looked_at() {
  admission a = of_three();
  node_facts f = facts(0);
  f.record.reset();
  a.looked_at(0, f, "x", t0);
  return a.tick(t0 + 1s).look.has(0);
}

bool two_of_three_in_two_epochs_are_sealed() {
  admission a = of_three();
  std::size_t seals = 0;
  for (time_point now = t0; now < t0 + 1s; now += 10ms) {
    const auto step = a.tick(now);
    seals += step.seals.size();
    for (node_index i = 0; i < 2; ++i) {
      node_facts f = facts(i);
      f.record->epoch += i;
      if (now == t0 || step.look.has(i)) a.looked_at(i, f, "x", now);
    }
  }
  return seals > 0;
}

bool a_process_that_is_not_noted_does_not_vote() {
  admission a({.nodes = 3, .tokens = false, .max_ttl = 60s, .timeout = 50ms, .seed = 1});
  node_facts f = facts(0);
  f.record.reset();
  a.looked_at(0, f, "x", t0);
  a.tick(t0 + takeover_after(60s));
  return a.voters().empty();
}

bool what_a_lost_note_said_is_not_said_again() {
  life_notes mine;
  mine.note_process("a", "r1", true, t0);
  life_notes shared;
  shared.add(mine, t0 + 1s);
  return !shared.is_durable("a", "r1");
}

bool a_server_under_two_names_is_one_node() {
  admission a = of_three();
  for (node_index i = 0; i < 2; ++i) a.looked_at(i, facts(0), "x", t0);
  return a.voters() == node_set::only(0);
}

bool a_small_step_is_seen_after_a_long_watch() {
  clock_watch w;
  w.sample(1000s, t0, t0);
  w.sample(1100s, t0 + 100s, t0 + 100s);
  return w.sample(1101s + 500ms, t0 + 101s, t0 + 101s) == clock_watch::verdict::stepped_forward;
}

bool who_may_have_lost_writes_keeps_no_epoch() {
  admission a = of_three();
  node_facts f = facts(0);
  f.run_id = "another process";
  return a.looked_at(0, f, "x", t0).writes.at(0).record.kept_epoch == 0;
}

bool a_damaged_epoch_is_a_loss() {
  admission a = of_three();
  node_facts f = facts(0);
  f.record->epoch = believable + 1;
  return !a.looked_at(0, f, "x", t0).writes.empty();
}

bool an_answer_to_the_seal_of_an_earlier_life_is_none_of_this() {
  admission a = of_three();
  a.looked_at(1, facts(1), "x", t0);
  a.sealed({1, 0, "of before", 7, 1}, {seal_reply::result::sealed, 0, 0}, t0);
  return a.facts_of(1).record->epoch == 1;
}

constexpr guarded of_nodes[] = {
    {"refuse_lost_state", &rules::refuse_lost_state, a_node_without_its_record_is_stopped},
    {"wait_before_rejoin", &rules::wait_before_rejoin, the_wait_is_there},
    {"wait_full_time", &rules::wait_full_time, the_wait_is_all_of_it},
    {"wait_by_longest", &rules::wait_by_longest, the_wait_is_by_the_longest_of_all_records},
    {"wait_by_seen_later", &rules::wait_by_seen_later,
     a_record_that_is_seen_later_lengthens_the_wait},
    {"rejoin_with_longest", &rules::rejoin_with_longest,
     a_rejoin_writes_the_longest_of_all_records},
    {"wait_then_seal", &rules::wait_then_seal, floors_are_read_after_the_wait},
    {"ask_only_seen", &rules::ask_only_seen, a_node_in_another_epoch_does_not_vote},
    {"seal_others", &rules::seal_others, who_rejoins_begins_an_epoch},
    {"seal_enough_others", &rules::seal_enough_others, one_other_is_too_few_to_learn_from},
    {"seal_only_admitted", &rules::seal_only_admitted, a_node_that_lost_state_is_not_sealed},
    {"rejoin_restarted_first", &rules::rejoin_restarted_first,
     a_node_that_restarted_is_not_sealed_for_a_lost_one},
    {"fresh_epoch", &rules::fresh_epoch, recover_begins_an_epoch_of_its_own},
    {"count_servers_once", &rules::count_servers_once, a_server_under_two_names_is_one_node},
    {"step_like_restart", &rules::step_like_restart, a_stepped_clock_puts_the_node_out},
    {"record_is_no_step", &rules::record_is_no_step, a_record_that_another_wrote_is_no_step},
    {"answer_of_its_write", &rules::answer_of_its_write,
     the_answer_to_an_earlier_write_is_not_taken_for_a_later_one},
    {"vote_after_note", &rules::vote_after_note, a_process_that_is_not_noted_does_not_vote},
    {"lost_notes_stay_lost", &rules::lost_notes_stay_lost, what_a_lost_note_said_is_not_said_again},
    {"look_for_recover", &rules::look_for_recover, what_an_operator_may_have_written_is_looked_at},
    {"meet_in_one_epoch", &rules::meet_in_one_epoch, two_of_three_in_two_epochs_are_sealed},
    {"step_since_last_look", &rules::step_since_last_look, a_small_step_is_seen_after_a_long_watch},
    {"loss_beside_step", &rules::loss_beside_step, who_may_have_lost_writes_keeps_no_epoch},
    {"damage_is_loss", &rules::damage_is_loss, a_damaged_epoch_is_a_loss},
    {"seal_of_its_life", &rules::seal_of_its_life,
     an_answer_to_the_seal_of_an_earlier_life_is_none_of_this}};

static_assert(std::size(of_nodes) == rules_of_nodes, "a rule has no test");

struct redlock_node_rules : guarding_rules {};

TEST_P(redlock_node_rules, guards_its_behaviour_only_while_it_is_there) {
  expect_that_it_matters();
}

INSTANTIATE_TEST_SUITE_P(each, redlock_node_rules, ::testing::ValuesIn(of_nodes),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace holdfast::core::redlock
