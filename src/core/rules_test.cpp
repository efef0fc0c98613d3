// Each switch of rules.hpp, alone: what it guards is there with it and not without it. The
// simulator shows that the protocol then breaks; this shows that the switch reaches its place.
#include "core/rules.hpp"

#include "core/claim_views_fixture.hpp"
#include "core/ledger.hpp"
#include "core/patrol.hpp"
#include "core/queue.hpp"
#include "core/session_machine.hpp"
#include "core/start_fixture.hpp"

#include "gtest/gtest.h"

#include <ostream>

namespace holdfast::core {
namespace {

using namespace std::chrono_literals;
using testing::is;
using testing::view;

open_reply open(ledger& l, std::uint8_t n) {
  open_request r;
  r.draft.id.bytes[0] = n;
  r.draft.ttl = ttl_default;
  return l.open(r);
}

enqueue_request request(std::uint8_t n, const open_reply& s, mode how) {
  enqueue_request r;
  r.name = lock_name("a");
  r.id.bytes[0] = n;
  r.inc = s.at.inc;
  r.gate = s.gate;
  r.request = 1;
  r.how = how;
  return r;
}

session_id id_of(std::uint8_t n) {
  session_id id;
  id.bytes[0] = n;
  return id;
}

bool a_slow_answer_does_not_lengthen_the_lease() {
  lease own;
  session_machine m(30s, own);
  m.opened(t0, t0 + 5s);
  return own.until() == t0 + usable(30s);
}

bool an_old_write_does_not_prove_a_new_attempt() {
  lease own;
  session_machine m(30s, own);
  m.opened(t0, t0);
  m.tick(t0 + 10s);
  m.tick(t0 + 15s);
  beat_reply r;
  r.what = status::ok;
  r.proves = 1;
  m.beat_answered(2, r, t0 + 16s);
  return own.until() == t0 + 10s + usable(30s);
}

bool a_holder_stops_before_its_ttl_is_over() { return usable(30s) < 30s; }

bool a_passed_deadline_stays_passed() {
  lease own(t0);
  return !own.extend(t0 + 5s, t0 + 1s);
}

bool a_beat_saves_a_session_from_takeover() {
  ledger l;
  const auto a = open(l, 1);
  l.beat({id_of(1), a.at.inc, 1});
  return l.take({id_of(1), a.at}).what == status::changed;
}

bool nobody_is_due_before_its_ttl() {
  sightings notes;
  notes.note(id_of(1), {1, 1}, 30s, t0);
  return notes.due(t0 + 29s).empty();
}

bool a_missing_record_refuses_beats() {
  ledger l;
  return l.beat({id_of(1), 1, 1}).what == status::gone;
}

bool a_woken_waiter_reads_again() {
  lease own(t0 + 1h);
  claim c({.waits = true}, own);
  c.start(t0);
  c.enqueued(view(status::queued, {7}, 9), t0);
  c.probed({}, t0);
  return is<act::confirm>(c.notified(t0));
}

bool a_late_enqueue_does_not_apply() {
  ledger l;
  const auto a = open(l, 1);
  l.leave({lock_name("a"), id_of(1), a.at.inc, 1, {}, true});
  return l.enqueue(request(1, a, mode::exclusive())).what == status::stale_gate;
}

bool a_reader_watches_the_writer() {
  std::vector<entry> q;
  for (const mode how : {mode::exclusive(), mode::shared(), mode::shared()}) {
    q.push_back({.order = token{q.size() + 1}, .how = how});
  }
  return watch_targets(q, token{3}) == std::vector{token{1}};
}

bool disagreeing_permits_are_refused() {
  ledger l;
  const auto a = open(l, 1), b = open(l, 2);
  l.enqueue(request(1, a, mode::permits(2)));
  return l.enqueue(request(2, b, mode::permits(3))).what == status::conflicting;
}

bool a_denied_beat_is_refused() {
  ledger l;
  const auto a = open(l, 1);
  l.deny({id_of(1), "root", "test"});
  return l.beat({id_of(1), a.at.inc, 1}).what == status::denied;
}

bool a_patrol_takes_nobody_at_first_sight() {
  ledger l;
  open(l, 1);
  patrol p;
  return p.seen(l.glance(p.begin({}, t0)), t0).empty();
}

bool a_grant_after_the_lease_is_given_back() {
  lease own(t0);
  claim c({.waits = true}, own);
  c.start(t0);
  return is<act::leave>(c.enqueued(view(status::ok, {7}), t0 + 1s));
}

struct guarded {
  const char* name;
  bool rules::*rule;
  bool (*holds)();
};

std::ostream& operator<<(std::ostream& out, const guarded& g) { return out << g.name; }

constexpr guarded all[] = {
    {"count_from_send", &rules::count_from_send, a_slow_answer_does_not_lengthen_the_lease},
    {"prove_own_attempt", &rules::prove_own_attempt, an_old_write_does_not_prove_a_new_attempt},
    {"subtract_drift", &rules::subtract_drift, a_holder_stops_before_its_ttl_is_over},
    {"extend_only_in_time", &rules::extend_only_in_time, a_passed_deadline_stays_passed},
    {"compare_on_take", &rules::compare_on_take, a_beat_saves_a_session_from_takeover},
    {"wait_full_ttl", &rules::wait_full_ttl, nobody_is_due_before_its_ttl},
    {"beat_never_revives", &rules::beat_never_revives, a_missing_record_refuses_beats},
    {"confirm_after_wait", &rules::confirm_after_wait, a_woken_waiter_reads_again},
    {"gate_unknown_enqueue", &rules::gate_unknown_enqueue, a_late_enqueue_does_not_apply},
    {"shared_watches_writer", &rules::shared_watches_writer, a_reader_watches_the_writer},
    {"permits_agree", &rules::permits_agree, disagreeing_permits_are_refused},
    {"refuse_denied", &rules::refuse_denied, a_denied_beat_is_refused},
    {"check_lease_at_grant", &rules::check_lease_at_grant, a_grant_after_the_lease_is_given_back},
    {"patrol_waits", &rules::patrol_waits, a_patrol_takes_nobody_at_first_sight}};

static_assert(std::size(all) == sizeof(rules) / sizeof(bool), "a rule has no test here");

struct core_rules : ::testing::TestWithParam<guarded> {
  ~core_rules() override { active = rules{}; }
};

TEST_P(core_rules, guards_its_behaviour_only_while_it_is_there) {
  EXPECT_TRUE(GetParam().holds());
  active.*GetParam().rule = false;
  EXPECT_FALSE(GetParam().holds());
}

INSTANTIATE_TEST_SUITE_P(each, core_rules, ::testing::ValuesIn(all),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace holdfast::core
