// The tables of claim.hpp and observer.hpp, cell by cell: every state with every event.
#include "core/claim_views_fixture.hpp"
#include "core/errc_of.hpp"
#include "core/session_machine.hpp"
#include "core/start_fixture.hpp"

#include "gtest/gtest.h"

#include <functional>

namespace holdfast::core {
namespace {

using namespace std::chrono_literals;
using testing::answer;
using testing::is;
using testing::view;

const char* name_of_action(const action& a) {
  constexpr const char* names[] = {"enqueue", "probe", "take", "watch",
                                   "confirm", "leave", "rest", "finish"};
  return names[a.index()];
}

struct claim_row {
  const char* state;
  std::function<void(claim&)> enter;
  const char* notified;
  const char* tick_before;
  const char* tick_due;
  const char* cancel;
  const char* session_over;
};

void queue_up(claim& c) {
  c.start(t0);
  c.enqueued(view(status::queued, {7}, 9), t0);
}
void rest(claim& c) {
  queue_up(c);
  c.probed({}, t0);
}

const claim_row claim_table[] = {
    {"idle", [](claim&) {}, "rest", "rest", "rest", "finish", "finish"},
    {"enqueuing", [](claim& c) { c.start(t0); }, "rest", "rest", "rest", "rest", "rest"},
    {"pausing",
     [](claim& c) {
       c.start(t0);
       c.enqueued(view(status::unavailable), t0);
     },
     "rest", "rest", "enqueue", "finish", "finish"},
    {"probing", queue_up, "rest", "rest", "rest", "rest", "rest"},
    {"taking",
     [](claim& c) {
       queue_up(c);
       c.probed({c.ahead()[0].owner}, t0);
     },
     "rest", "rest", "rest", "rest", "rest"},
    {"watching", rest, "confirm", "rest", "probe", "leave", "leave"},
    {"confirming",
     [](claim& c) {
       rest(c);
       c.notified(t0);
     },
     "rest", "rest", "rest", "rest", "rest"},
    {"leaving",
     [](claim& c) {
       rest(c);
       c.cancel();
     },
     "rest", "rest", "rest", "rest", "rest"},
    {"lingering",
     [](claim& c) {
       c.start(t0);
       c.enqueued(view(status::unknown), t0);
       c.left(answer<leave_reply>(status::unknown), t0);
     },
     "rest", "rest", "leave", "finish", "finish"},
    {"finished",
     [](claim& c) {
       c.start(t0);
       c.enqueued(view(status::ok, {7}), t0);
     },
     "rest", "rest", "rest", "rest", "rest"}};

TEST(claim_table, every_state_answers_every_event_as_written) {
  for (const claim_row& row : claim_table) {
    const auto after = [&](const std::function<action(claim&)>& event) {
      lease own(t0 + 1h);
      claim c({.waits = true}, own);
      row.enter(c);
      return name_of_action(event(c));
    };
    EXPECT_STREQ(after([](claim& c) { return c.notified(t0); }), row.notified) << row.state;
    EXPECT_STREQ(after([](claim& c) { return c.tick(t0); }), row.tick_before) << row.state;
    EXPECT_STREQ(after([](claim& c) { return c.tick(c.at_rest() ? c.wake() : t0 + 1s); }),
                 row.tick_due)
        << row.state;
    EXPECT_STREQ(after([](claim& c) { return c.cancel(); }), row.cancel) << row.state;
    EXPECT_STREQ(after([](claim& c) { return c.session_over(errc::lost, "over"); }),
                 row.session_over)
        << row.state;
  }
}

TEST(claim_table, a_cancel_during_any_operation_is_obeyed_with_its_reply) {
  for (const claim_row& row : claim_table) {
    const std::string state = row.state;
    lease own(t0 + 1h);
    claim c({.waits = true}, own);
    row.enter(c);
    c.cancel();
    if (state == "probing") {
      EXPECT_TRUE(is<act::leave>(c.probed({}, t0)));
    }
    if (state == "taking") {
      const auto id = c.ahead()[0].owner;
      EXPECT_TRUE(is<act::leave>(c.taken(id, answer<take_reply>(status::ok), t0)));
    }
    if (state == "confirming") {
      EXPECT_TRUE(is<act::leave>(c.confirmed(view(status::ok, {7}), t0)));
    }
    if (state == "enqueuing") {
      EXPECT_TRUE(is<act::leave>(c.enqueued(view(status::queued, {7}, 9), t0)));
    }
  }
}

TEST(claim_table, every_refusal_of_an_enqueue_has_its_reason) {
  const std::pair<status, errc> cases[] = {{status::gone, errc::lost},
                                           {status::denied, errc::denied},
                                           {status::damaged, errc::damaged},
                                           {status::not_initialised, errc::not_initialised},
                                           {status::conflicting, errc::mode_conflict},
                                           {status::too_many, errc::unavailable},
                                           {status::unsupported, errc::unsupported}};
  for (const auto& [what, why] : cases) {
    lease own(t0 + 1h);
    claim c({.waits = true}, own);
    c.start(t0);
    const auto a = c.enqueued(view(what), t0);
    EXPECT_EQ(std::get<act::finish>(a).why, why);
    EXPECT_EQ(std::get<act::finish>(a).text, error(why).message());
  }
}

TEST(status_table, every_answer_but_a_success_has_one_code) {
  const std::pair<status, errc> cases[] = {{status::queued, errc::busy},
                                           {status::busy, errc::busy},
                                           {status::gone, errc::lost},
                                           {status::denied, errc::denied},
                                           {status::changed, errc::busy},
                                           {status::stale_gate, errc::unavailable},
                                           {status::conflicting, errc::mode_conflict},
                                           {status::too_many, errc::unavailable},
                                           {status::unsupported, errc::unsupported},
                                           {status::invalid, errc::invalid_argument},
                                           {status::unavailable, errc::unavailable},
                                           {status::unknown, errc::outcome_unknown},
                                           {status::damaged, errc::damaged},
                                           {status::not_initialised, errc::not_initialised}};
  auto next = status::ok;
  for (const auto& [what, why] : cases) {
    next = static_cast<status>(static_cast<int>(next) + 1);
    EXPECT_EQ(what, next) << "one is missing";
    EXPECT_EQ(errc_of(what), why) << static_cast<int>(what);
  }
}

TEST(claim_table, a_refused_confirm_leaves_only_an_entry_that_may_be_there) {
  for (const auto& [what, leaves] : {std::pair{status::gone, false}, {status::denied, true}}) {
    lease own(t0 + 1h);
    claim c({.waits = true}, own);
    rest(c);
    c.notified(t0);
    EXPECT_EQ(is<act::leave>(c.confirmed(view(what), t0)), leaves);
  }
}

using machine_event = std::function<session_machine::step(session_machine&)>;

beat_reply beat(status what) {
  auto r = answer<beat_reply>(what);
  r.proves = 3;
  return r;
}

struct event_column {
  const char* name;
  machine_event event;
  session_state after;
  bool remove_record;
};

const event_column columns[] = {
    {"acknowledged", [](auto& m) { return m.beat_answered(3, beat(status::ok), t0 + 20s); },
     session_state::attached, false},
    {"deadline", [](auto& m) { return m.tick(t0 + 31s); }, session_state::expired, true},
    {"late answer", [](auto& m) { return m.beat_answered(3, beat(status::ok), t0 + 31s); },
     session_state::expired, true},
    {"denied", [](auto& m) { return m.beat_answered(3, beat(status::denied), t0 + 20s); },
     session_state::denied, false},
    {"gone", [](auto& m) { return m.ended_by_engine(status::gone); }, session_state::expired,
     false},
    {"close", [](auto& m) { return m.close(t0 + 20s); }, session_state::closed, true}};

/// Three beats sent, none answered; endangered when the last tick came.
void send_three(session_machine& m) {
  m.opened(t0, t0);
  for (const auto at : {10s, 15s, 20s}) m.tick(t0 + at);
}

TEST(session_table, attached_and_endangered_go_where_the_table_says) {
  for (const bool endangered : {false, true}) {
    for (const event_column& column : columns) {
      lease own;
      session_machine m(30s, own);
      send_three(m);
      ASSERT_EQ(m.state(), session_state::endangered);
      if (!endangered) m.beat_answered(3, beat(status::ok), t0 + 20s);
      const auto s = [&] {
        // An attached one's lease runs 20 s longer.
        if (!endangered && column.after == session_state::expired && column.remove_record) {
          return m.tick(t0 + 51s);
        }
        return column.event(m);
      }();
      EXPECT_EQ(m.state(), column.after) << column.name;
      EXPECT_EQ(s.remove_record, column.remove_record) << column.name;
      EXPECT_EQ(own.is_lost(), m.is_final()) << column.name;
      EXPECT_EQ(m.reason(t0 + 51s).empty(), !m.is_final()) << column.name;
    }
  }
}

TEST(session_table, a_final_state_answers_nothing_to_anything) {
  for (const event_column& end : columns) {
    if (end.after == session_state::attached) continue;
    for (const event_column& later : columns) {
      lease own;
      session_machine m(30s, own);
      send_three(m);
      end.event(m);
      const std::string reason = m.reason(t0 + 51s);
      const auto s = later.event(m);
      EXPECT_EQ(m.state(), end.after) << end.name << ", " << later.name;
      EXPECT_EQ(m.reason(t0 + 51s), reason);
      EXPECT_FALSE(s.beat || s.changed) << end.name << ", " << later.name;
      // But that the owner of a denied one, whose record stays, has stopped.
      const bool lets_go =
          end.after == session_state::denied && later.after == session_state::closed;
      EXPECT_EQ(s.remove_record, lets_go) << end.name << ", " << later.name;
      EXPECT_EQ(s.wake, time_point::max());
      EXPECT_TRUE(own.is_lost());
    }
  }
}

TEST(session_table, an_answer_that_proves_nothing_changes_nothing) {
  for (const status what : {status::unavailable, status::unknown, status::damaged}) {
    lease own;
    session_machine m(30s, own);
    send_three(m);
    const auto until = own.until();
    EXPECT_FALSE(m.beat_answered(3, beat(what), t0 + 20s).changed);
    EXPECT_EQ(own.until(), until);
  }
}

TEST(session_table, an_attempt_that_was_never_sent_proves_nothing) {
  lease own;
  session_machine m(30s, own);
  send_three(m);
  auto r = beat(status::ok);
  for (const std::uint64_t never : {0, 4, 11}) {
    r.proves = never;
    m.beat_answered(never, r, t0 + 20s);
    EXPECT_EQ(own.until(), t0 + usable(30s));
  }
}

}  // namespace
}  // namespace holdfast::core
