#include "tests/engine/conformance.hpp"

#include <set>
#include <tuple>

/// open, beat, close, take and deny: the life of a session record.

namespace holdfast::conformance {
namespace {

using core::status;

class engine_sessions : public engine_test {};
INSTANTIATE_TEST_SUITE_P(on, engine_sessions, testing::ValuesIn(built_engines()), kind_name);

TEST_P(engine_sessions, open_stores_the_whole_draft) {
  const auto id = fresh_id();
  const auto draft = draft_of(id, std::chrono::milliseconds{1234});
  const auto r = ask().open(draft);
  ASSERT_EQ(r.what, status::ok) << r.text;
  EXPECT_GT(r.at.inc, 0U);
  EXPECT_FALSE(r.at.denied);

  const auto all = ask().list();
  ASSERT_EQ(all.sessions.size(), 1U);
  const auto& s = all.sessions[0];
  EXPECT_EQ(s.id, id);
  EXPECT_EQ(s.at, r.at);
  EXPECT_EQ(s.gate, r.gate);
  EXPECT_EQ(s.ttl, draft.draft.ttl);
  EXPECT_EQ(s.where, draft.draft.where);
  EXPECT_EQ(s.owner.host, draft.draft.owner.host);
  EXPECT_EQ(s.owner.boot_id, draft.draft.owner.boot_id);
  EXPECT_EQ(s.owner.pid, draft.draft.owner.pid);
  EXPECT_EQ(s.owner.program, draft.draft.owner.program);
  EXPECT_EQ(s.owner.instance, draft.draft.owner.instance);
  EXPECT_EQ(s.owner.label, draft.draft.owner.label);
  EXPECT_EQ(s.owner.started, draft.draft.owner.started);
  EXPECT_EQ(s.opened, draft.draft.opened);
  EXPECT_TRUE(s.denied_by.empty());
}

TEST_P(engine_sessions, open_again_after_an_unknown_outcome_finds_its_own_record) {
  const auto draft = draft_of(fresh_id());
  const auto first = ask().open(draft);
  const auto second = ask().open(draft);
  ASSERT_EQ(second.what, status::ok) << second.text;
  EXPECT_EQ(second.at.inc, first.at.inc);
  EXPECT_EQ(second.gate, first.gate);
  EXPECT_EQ(ask().list().sessions.size(), 1U);
}

TEST_P(engine_sessions, open_of_a_denied_record_answers_denied) {
  const auto draft = draft_of(fresh_id());
  ask().open(draft);
  ask().deny({draft.draft.id, "op", "why"});
  EXPECT_EQ(ask().open(draft).what, status::denied);
}

TEST_P(engine_sessions, incarnations_grow) {
  std::uint64_t last = 0;
  for (int i = 0; i < 100; ++i) {
    const auto draft = draft_of(fresh_id());
    const auto r = ask().open(draft);
    ASSERT_GT(r.at.inc, last);
    last = r.at.inc;
    if (i % 2 == 0) ask().close({draft.draft.id, r.at.inc});
  }
}

TEST_P(engine_sessions, the_same_id_opened_after_close_is_another_incarnation) {
  const auto draft = draft_of(fresh_id());
  const auto first = ask().open(draft);
  ask().close({draft.draft.id, first.at.inc});
  const auto second = ask().open(draft);
  ASSERT_EQ(second.what, status::ok);
  EXPECT_GT(second.at.inc, first.at.inc);
}

TEST_P(engine_sessions, every_beat_changes_the_version_and_none_ever_comes_back) {
  auto m = join();
  std::set<std::uint64_t> seen{m.opened_at().beat};
  // Attempts arrive out of order and twice; an observer must never meet an old version again.
  for (const std::uint64_t attempt : {1U, 2U, 3U, 2U, 1U, 4U}) {
    const auto r = ask().beat({m.id(), m.inc(), attempt});
    ASSERT_EQ(r.what, status::ok) << r.text;
    EXPECT_GE(r.proves, 1U);
    EXPECT_LE(r.proves, attempt);
    const auto now = m.record().at;
    EXPECT_EQ(now.inc, m.inc());
    EXPECT_TRUE(seen.insert(now.beat).second) << "version " << now.beat << " came back";
  }
}

TEST_P(engine_sessions, a_beat_never_creates_a_record) {
  const auto nobody = fresh_id();
  EXPECT_EQ(ask().beat({nobody, 1, 1}).what, status::gone);
  auto m = join();
  EXPECT_EQ(ask().beat({m.id(), m.inc() + 1, 1}).what, status::gone);
  m.close();
  EXPECT_EQ(m.beat().what, status::gone);
  EXPECT_TRUE(ask().list().sessions.empty());
}

TEST_P(engine_sessions, a_beat_of_another_incarnation_leaves_the_version_alone) {
  auto m = join();
  ask().beat({m.id(), m.inc() + 1, 1});
  EXPECT_EQ(m.record().at, m.opened_at());
}

TEST_P(engine_sessions, close_deletes_only_the_same_incarnation) {
  auto m = join();
  EXPECT_EQ(ask().close({m.id(), m.inc() + 1}).what, status::gone);
  EXPECT_EQ(m.record().at, m.opened_at());
  EXPECT_EQ(m.close().what, status::ok);
  EXPECT_EQ(m.close().what, status::gone);
  EXPECT_TRUE(ask().list().sessions.empty());
}

TEST_P(engine_sessions, close_releases_every_lock_at_once) {
  auto holder = join();
  auto waiter = join();
  const auto a = waiter.enqueue("a");
  EXPECT_EQ(a.what, status::ok);
  for (const char* name : {"b", "c", "d"}) ASSERT_EQ(holder.enqueue(name).what, status::ok);
  const auto b = waiter.enqueue("b");
  ASSERT_EQ(b.what, status::queued);
  EXPECT_EQ(holder.close().what, status::ok);
  EXPECT_EQ(waiter.confirm("b", b.mine).what, status::ok);
  EXPECT_EQ(waiter.attempt("c").what, status::ok);
  EXPECT_EQ(waiter.attempt("d").what, status::ok);
  EXPECT_EQ(ask().list().locks.size(), 4U);
}

TEST_P(engine_sessions, a_closed_session_can_do_nothing) {
  auto m = join();
  const auto held = m.enqueue("a");
  m.close();
  EXPECT_EQ(m.enqueue("b").what, status::gone);
  EXPECT_EQ(m.attempt("b").what, status::gone);
  EXPECT_EQ(m.confirm("a", held.mine).what, status::gone);
  EXPECT_EQ(ask().deny({m.id(), "op", ""}).what, status::gone);
  EXPECT_TRUE(ask().list().locks.empty());
}

TEST_P(engine_sessions, take_deletes_at_exactly_the_version_seen) {
  auto owner = join();
  ASSERT_EQ(owner.enqueue("a").what, status::ok);
  auto waiter = join();
  const auto mine = waiter.enqueue("a");
  ASSERT_EQ(mine.ahead.size(), 1U);
  const auto seen = mine.ahead[0].at;
  EXPECT_EQ(seen, owner.record().at);

  owner.beat();
  const auto changed = ask().take({owner.id(), seen});
  EXPECT_EQ(changed.what, status::changed);
  EXPECT_EQ(changed.at, owner.record().at);
  EXPECT_EQ(waiter.confirm("a", mine.mine).what, status::queued);

  EXPECT_EQ(ask().take({owner.id(), changed.at}).what, status::ok);
  EXPECT_EQ(waiter.confirm("a", mine.mine).what, status::ok);
  EXPECT_EQ(owner.beat().what, status::gone);
  EXPECT_EQ(ask().take({owner.id(), changed.at}).what, status::gone);
}

TEST_P(engine_sessions, take_compares_incarnation_beat_and_denial) {
  auto m = join();
  m.beat();
  const auto at = m.record().at;
  EXPECT_EQ(ask().take({m.id(), {at.inc + 1, at.beat, at.denied}}).what, status::changed);
  EXPECT_EQ(ask().take({m.id(), {at.inc, at.beat + 1, at.denied}}).what, status::changed);
  EXPECT_EQ(ask().take({m.id(), {at.inc, at.beat, !at.denied}}).what, status::changed);
  EXPECT_EQ(m.record().at, at);
}

TEST_P(engine_sessions, deny_changes_the_version_and_refuses_what_follows) {
  auto m = join(std::chrono::seconds{7});
  const auto held = m.enqueue("a");
  const auto before = m.record().at;
  const auto d = ask().deny({m.id(), "an operator", "because"});
  EXPECT_EQ(d.what, status::ok);
  EXPECT_FALSE(d.already);
  EXPECT_EQ(d.ttl, std::chrono::seconds{7});

  const auto s = m.record();
  EXPECT_NE(s.at, before);
  EXPECT_TRUE(s.at.denied);
  EXPECT_EQ(s.denied_by, "an operator");
  EXPECT_EQ(s.denied_why, "because");
  EXPECT_EQ(m.beat().what, status::denied);
  EXPECT_EQ(m.enqueue("b").what, status::denied);
  EXPECT_EQ(m.attempt("b").what, status::denied);
  EXPECT_EQ(m.confirm("a", held.mine).what, status::denied);
  EXPECT_EQ(m.record().at, s.at) << "a refused beat must not look alive";
  EXPECT_EQ(find_lock(ask().list(), "b"), nullptr);
}

TEST_P(engine_sessions, deny_twice_changes_nothing) {
  auto m = join(std::chrono::seconds{7});
  ask().deny({m.id(), "first", "reason"});
  const auto before = m.record();
  const auto again = ask().deny({m.id(), "second", "other"});
  EXPECT_EQ(again.what, status::ok);
  EXPECT_TRUE(again.already);
  EXPECT_EQ(again.ttl, std::chrono::seconds{7});
  const auto after = m.record();
  EXPECT_EQ(after.at, before.at);
  EXPECT_EQ(after.denied_by, "first");
  EXPECT_EQ(after.denied_why, "reason");
}

TEST_P(engine_sessions, deny_deletes_nothing_by_force) {
  auto m = join();
  const auto held = m.enqueue("a");
  auto waiter = join();
  const auto mine = waiter.enqueue("a");
  ask().deny({m.id(), "op", "why"});
  const auto v = waiter.confirm("a", mine.mine);
  EXPECT_EQ(v.what, status::queued);
  ASSERT_EQ(v.ahead.size(), 1U);
  EXPECT_EQ(v.ahead[0].order, held.mine);
  EXPECT_TRUE(v.ahead[0].at.denied);
}

TEST_P(engine_sessions, a_denied_session_may_still_leave_and_close) {
  auto m = join();
  const auto held = m.enqueue("a");
  ask().deny({m.id(), "op", "why"});
  EXPECT_EQ(m.leave("a", held.mine).what, status::ok);
  auto other = join();
  EXPECT_EQ(other.attempt("a").what, status::ok);
  EXPECT_EQ(m.close().what, status::ok);
}

TEST_P(engine_sessions, deny_of_nobody_is_gone) {
  EXPECT_EQ(ask().deny({fresh_id(), "op", "why"}).what, status::gone);
  EXPECT_TRUE(ask().list().sessions.empty());
}

TEST_P(engine_sessions, long_texts_are_kept) {
  auto draft = draft_of(fresh_id());
  const std::string text(256, 'x');
  draft.draft.owner.host = draft.draft.owner.program = draft.draft.owner.instance =
      draft.draft.owner.label = text;
  ASSERT_EQ(ask().open(draft).what, status::ok);
  ASSERT_EQ(ask().deny({draft.draft.id, text, text}).what, status::ok);
  const auto all = ask().list();
  ASSERT_EQ(all.sessions.size(), 1U);
  EXPECT_EQ(all.sessions[0].owner.label, text);
  EXPECT_EQ(all.sessions[0].denied_by, text);
  EXPECT_EQ(all.sessions[0].denied_why, text);
}

TEST_P(engine_sessions, beats_of_one_session_do_not_touch_another) {
  auto a = join();
  auto b = join();
  const auto before = b.record().at;
  for (int i = 0; i < 10; ++i) a.beat();
  EXPECT_EQ(b.record().at, before);
}

}  // namespace
}  // namespace holdfast::conformance
