#include "tests/engine/conformance.hpp"

#include <algorithm>

/// enqueue, leave and confirm: one lock's queue.

namespace holdfast::conformance {
namespace {

using core::status;

class engine_queues : public engine_test {};
INSTANTIATE_TEST_SUITE_P(on, engine_queues, testing::ValuesIn(built_engines()), kind_name);

TEST_P(engine_queues, a_free_name_is_granted_in_one_call) {
  auto m = join();
  const auto v = m.enqueue("a");
  ASSERT_EQ(v.what, status::ok) << v.text;
  EXPECT_GT(v.mine.value, 0U);
  EXPECT_LE(v.mine, token_max);
  EXPECT_EQ(m.confirm("a", v.mine).what, status::ok);
  EXPECT_EQ(m.confirm("a", v.mine).mine, v.mine);
}

TEST_P(engine_queues, exclusive_waiters_are_granted_in_order_of_arrival) {
  std::vector<member> all;
  std::vector<token> orders;
  for (int i = 0; i < 5; ++i) {
    auto& m = all.emplace_back(ask());
    const auto v = m.enqueue("a");
    EXPECT_EQ(v.what, i == 0 ? status::ok : status::queued);
    if (i > 0) {
      EXPECT_EQ(orders_of(v.ahead), orders);
      EXPECT_EQ(v.targets, std::vector<token>{orders.back()});
      ASSERT_TRUE(v.first);
      EXPECT_EQ(v.first->id, all[0].id());
      EXPECT_GT(v.mine, orders.back());
    }
    orders.push_back(v.mine);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = i; k < all.size(); ++k) {
      EXPECT_EQ(all[k].confirm("a", orders[k]).what, k == i ? status::ok : status::queued);
    }
    EXPECT_EQ(all[i].leave("a", orders[i]).what, status::ok);
  }
}

TEST_P(engine_queues, a_rival_is_described_as_its_session_and_entry_are) {
  auto draft = draft_of(fresh_id(), std::chrono::milliseconds{777});
  const auto opened = ask().open(draft);
  core::enqueue_request r;
  r.name = lock_name("a");
  r.id = draft.draft.id;
  r.inc = opened.at.inc;
  r.gate = opened.gate;
  r.request = 1;
  r.how = mode::shared();
  r.since = wall_time{std::chrono::microseconds{123}};
  const auto held = ask().enqueue(r);
  auto waiter = join();
  const auto v = waiter.enqueue("a");
  ASSERT_EQ(v.ahead.size(), 1U);
  EXPECT_EQ(v.ahead[0].order, held.mine);
  EXPECT_EQ(v.ahead[0].owner, draft.draft.id);
  EXPECT_EQ(v.ahead[0].at, opened.at);
  EXPECT_EQ(v.ahead[0].ttl, draft.draft.ttl);
  EXPECT_EQ(v.ahead[0].where, draft.draft.where);
  EXPECT_EQ(v.ahead[0].pid, draft.draft.owner.pid);
  EXPECT_EQ(v.ahead[0].how, mode::shared());
  EXPECT_EQ(v.ahead[0].since, r.since);
  ASSERT_TRUE(v.first);
  EXPECT_EQ(v.first->owner.label, draft.draft.owner.label);
}

TEST_P(engine_queues, a_try_of_a_busy_name_leaves_nothing_behind) {
  auto holder = join();
  const auto held = holder.enqueue("a");
  auto other = join();
  for (const auto how : {mode::exclusive(), mode::shared()}) {
    const auto v = other.attempt("a", how);
    EXPECT_EQ(v.what, status::busy);
    EXPECT_EQ(orders_of(v.ahead), std::vector<token>{held.mine});
    ASSERT_TRUE(v.first);
    EXPECT_EQ(v.first->id, holder.id());
  }
  const auto all = ask().list();
  ASSERT_EQ(all.locks.size(), 1U);
  EXPECT_EQ(all.locks[0].entries.size(), 1U);
  holder.leave("a", held.mine);
  EXPECT_EQ(other.attempt("a").what, status::ok);
}

TEST_P(engine_queues, shared_holders_are_together_and_wait_behind_an_older_exclusive) {
  auto r1 = join(), r2 = join(), w = join(), r3 = join(), r4 = join();
  const auto v1 = r1.enqueue("a", mode::shared());
  const auto v2 = r2.enqueue("a", mode::shared());
  EXPECT_EQ(v1.what, status::ok);
  EXPECT_EQ(v2.what, status::ok);
  const auto vw = w.enqueue("a");
  EXPECT_EQ(vw.what, status::queued);
  EXPECT_EQ(vw.targets, std::vector<token>{v2.mine});
  const auto v3 = r3.enqueue("a", mode::shared());
  EXPECT_EQ(v3.what, status::queued);
  EXPECT_EQ(v3.targets, std::vector<token>{vw.mine});
  const auto v4 = r4.enqueue("a", mode::shared());
  EXPECT_EQ(v4.targets, std::vector<token>{vw.mine}) << "the writer, not the reader before it";
  EXPECT_EQ(r4.attempt("a", mode::shared()).what, status::busy);

  r1.leave("a", v1.mine);
  EXPECT_EQ(w.confirm("a", vw.mine).what, status::queued);
  r2.leave("a", v2.mine);
  EXPECT_EQ(w.confirm("a", vw.mine).what, status::ok);
  w.close();
  EXPECT_EQ(r3.confirm("a", v3.mine).what, status::ok);
  EXPECT_EQ(r4.confirm("a", v4.mine).what, status::ok);
}

TEST_P(engine_queues, permits_grant_n_in_order) {
  std::vector<member> all;
  std::vector<core::queue_view> views;
  for (int i = 0; i < 6; ++i) {
    all.emplace_back(ask());
    views.push_back(all.back().enqueue("p", mode::permits(3)));
    EXPECT_EQ(views.back().what, i < 3 ? status::ok : status::queued) << i;
  }
  for (std::size_t i = 3; i < 6; ++i) {
    const std::vector<token> youngest{views[i - 3].mine, views[i - 2].mine, views[i - 1].mine};
    EXPECT_EQ(views[i].targets, youngest) << "the n youngest older entries";
  }
  EXPECT_EQ(all[0].attempt("p", mode::permits(3)).what, status::busy);

  all[1].leave("p", views[1].mine);
  EXPECT_EQ(all[3].confirm("p", views[3].mine).what, status::ok);
  EXPECT_EQ(all[4].confirm("p", views[4].mine).what, status::queued);
  all[0].close();
  all[2].close();
  EXPECT_EQ(all[5].confirm("p", views[5].mine).what, status::ok);
}

TEST_P(engine_queues, modes_that_do_not_agree_are_conflicting_and_leave_nothing) {
  auto a = join(), b = join();
  const auto held = a.enqueue("p", mode::permits(3));
  EXPECT_EQ(b.enqueue("p", mode::permits(4)).what, status::conflicting);
  EXPECT_EQ(b.enqueue("p", mode::exclusive()).what, status::conflicting);
  EXPECT_EQ(b.attempt("p", mode::shared()).what, status::conflicting);
  EXPECT_EQ(find_lock(ask().list(), "p")->entries.size(), 1U);
  a.leave("p", held.mine);
  const auto x = b.enqueue("p");
  EXPECT_EQ(x.what, status::ok) << "only live entries must agree";
  EXPECT_EQ(a.enqueue("p", mode::permits(3)).what, status::conflicting);
}

TEST_P(engine_queues, a_dead_holder_of_another_mode_is_in_nobodys_way) {
  for (const auto& [there, asked] : {std::pair{mode::permits(2), mode::exclusive()},
                                     std::pair{mode::permits(2), mode::permits(3)},
                                     std::pair{mode::exclusive(), mode::permits(2)},
                                     std::pair{mode::shared(), mode::permits(2)}}) {
    auto first = join(), second = join(), comer = join();
    const auto held = first.enqueue("p", there);
    const auto next = second.enqueue("p", there);
    const auto refused = comer.enqueue("p", asked);
    ASSERT_EQ(refused.what, status::conflicting);
    EXPECT_EQ(orders_of(refused.ahead), (std::vector<token>{held.mine, next.mine}));
    EXPECT_TRUE(refused.first && refused.first->id == first.id());
    EXPECT_TRUE(refused.targets.empty());
    EXPECT_EQ(refused.mine, token{});
    for (const core::rival& one : refused.ahead) {
      EXPECT_EQ(ask().take({one.owner, one.at}).what, status::ok);
    }
    EXPECT_EQ(comer.enqueue("p", asked).what, status::ok);
    comer.close();
  }
}

TEST_P(engine_queues, a_dead_entry_does_not_make_a_mode_conflicting) {
  auto a = join(), b = join();
  a.enqueue("p", mode::permits(3));
  a.close();
  EXPECT_EQ(b.enqueue("p", mode::permits(4)).what, status::ok);
}

TEST_P(engine_queues, the_same_request_again_answers_for_the_entry_that_is_there) {
  auto holder = join();
  const auto granted = holder.next_request("a");
  const auto first = ask().enqueue(granted);
  const auto again = ask().enqueue(granted);
  EXPECT_EQ(again.what, status::ok);
  EXPECT_EQ(again.mine, first.mine);

  auto waiter = join();
  const auto waiting = waiter.next_request("a");
  const auto v = ask().enqueue(waiting);
  const auto w = ask().enqueue(waiting);
  EXPECT_EQ(w.what, status::queued);
  EXPECT_EQ(w.mine, v.mine);
  EXPECT_EQ(orders_of(w.ahead), orders_of(v.ahead));
  EXPECT_EQ(find_lock(ask().list(), "a")->entries.size(), 2U);
}

TEST_P(engine_queues, leave_twice_is_ok_and_deletes_once) {
  auto a = join(), b = join();
  const auto va = a.enqueue("a");
  const auto vb = b.enqueue("a");
  EXPECT_EQ(a.leave("a", va.mine).what, status::ok);
  EXPECT_EQ(a.leave("a", va.mine).what, status::ok);
  EXPECT_EQ(b.confirm("a", vb.mine).what, status::ok);
  EXPECT_EQ(a.confirm("a", va.mine).what, status::gone);
}

TEST_P(engine_queues, somebody_elses_entry_is_never_touched) {
  auto owner = join(), thief = join();
  const auto held = owner.enqueue("a");
  thief.leave("a", held.mine);
  EXPECT_EQ(owner.confirm("a", held.mine).what, status::ok);
  thief.leave_unknown("a", owner.last_request());
  EXPECT_EQ(owner.confirm("a", held.mine).what, status::ok);
  ask().leave({lock_name("a"), owner.id(), owner.inc() + 1, 0, held.mine, false});
  EXPECT_EQ(owner.confirm("a", held.mine).what, status::ok);
  ask().leave({lock_name("b"), owner.id(), owner.inc(), 0, held.mine, false});
  EXPECT_EQ(owner.confirm("a", held.mine).what, status::ok);
  EXPECT_EQ(thief.confirm("a", held.mine).what, status::gone);
  EXPECT_EQ(owner.confirm("b", held.mine).what, status::gone);
}

TEST_P(engine_queues, an_entry_of_unknown_fate_is_found_by_its_request) {
  auto m = join();
  const auto v = m.enqueue("a");
  const auto kept = m.enqueue("b");
  EXPECT_EQ(m.leave_unknown("a", v.what == status::ok ? 1 : 0).what, status::ok);
  EXPECT_EQ(m.confirm("a", v.mine).what, status::gone);
  EXPECT_EQ(m.confirm("b", kept.mine).what, status::ok);
}

TEST_P(engine_queues, an_enqueue_that_comes_behind_a_moved_gate_does_not_apply) {
  auto m = join();
  const auto late = m.next_request("a");
  const auto old_gate = m.gate();
  EXPECT_EQ(m.leave_unknown("a", late.request).what, status::ok);
  EXPECT_GT(m.gate(), old_gate);
  const auto v = ask().enqueue(late);
  EXPECT_EQ(v.what, status::stale_gate);
  EXPECT_EQ(v.gate, m.gate());
  EXPECT_TRUE(ask().list().locks.empty());
  EXPECT_EQ(m.enqueue("a").what, status::ok);
}

TEST_P(engine_queues, moving_the_gate_keeps_other_entries_and_other_sessions) {
  auto m = join(), other = join();
  const auto kept = m.enqueue("kept");
  const auto theirs = other.next_request("theirs");
  m.leave_unknown("a", 99);
  EXPECT_EQ(m.confirm("kept", kept.mine).what, status::ok);
  EXPECT_EQ(ask().enqueue(theirs).what, status::ok);
  EXPECT_EQ(m.record().gate, m.gate());
}

TEST_P(engine_queues, leaving_without_moving_keeps_the_gate) {
  auto m = join();
  const auto v = m.enqueue("a");
  const auto before = m.record().gate;
  m.leave("a", v.mine);
  EXPECT_EQ(m.record().gate, before);
}

TEST_P(engine_queues, enqueue_needs_the_session_of_the_same_incarnation) {
  auto m = join();
  auto r = m.next_request("a");
  r.inc += 1;
  EXPECT_EQ(ask().enqueue(r).what, status::gone);
  r.id = fresh_id();
  EXPECT_EQ(ask().enqueue(r).what, status::gone);
  EXPECT_TRUE(ask().list().locks.empty());
}

TEST_P(engine_queues, entries_of_an_earlier_incarnation_are_dead) {
  const auto draft = draft_of(fresh_id());
  const auto first = ask().open(draft);
  core::enqueue_request r;
  r.name = lock_name("a");
  r.id = draft.draft.id;
  r.inc = first.at.inc;
  r.gate = first.gate;
  r.request = 1;
  const auto held = ask().enqueue(r);
  ASSERT_EQ(held.what, status::ok);
  // By another client, which does not know what there is to be taken away with it.
  again().close({draft.draft.id, first.at.inc});
  const auto second = ask().open(draft);
  ASSERT_EQ(second.what, status::ok);
  EXPECT_TRUE(ask().list().locks.empty());
  EXPECT_EQ(ask().confirm({r.name, r.id, second.at.inc, held.mine}).what, status::gone);
  auto other = join();
  EXPECT_EQ(other.attempt("a").what, status::ok);
}

TEST_P(engine_queues, who_was_taken_over_by_another_client_is_told_when_it_leaves) {
  auto m = join();
  const auto held = m.enqueue("a");
  ASSERT_EQ(held.what, status::ok);
  ASSERT_EQ(again().take({m.id(), m.record().at}).what, status::ok);
  EXPECT_EQ(m.leave("a", held.mine).what, status::gone);
  EXPECT_EQ(m.leave_unknown("a", m.last_request()).what, status::gone);
}

TEST_P(engine_queues, leaving_a_place_that_is_known_moves_the_gate_when_asked) {
  auto m = join();
  const auto held = m.enqueue("a");
  ASSERT_EQ(held.what, status::ok);
  core::leave_request l;
  l.name = lock_name("a");
  l.id = m.id();
  l.inc = m.inc();
  l.request = m.last_request();
  l.order = held.mine;
  l.move_gate = true;
  const auto left = ask().leave(l);
  EXPECT_EQ(left.what, status::ok) << left.text;
  EXPECT_NE(left.gate, m.gate());
  EXPECT_TRUE(ask().list().locks.empty());
  EXPECT_EQ(m.enqueue("a").what, status::stale_gate) << "as one that is still under way";
  auto r = m.next_request("a");
  r.gate = left.gate;
  EXPECT_EQ(ask().enqueue(r).what, status::ok);
}

TEST_P(engine_queues, leaving_for_an_earlier_incarnation_moves_no_gate) {
  const auto draft = draft_of(fresh_id());
  const auto first = ask().open(draft);
  ask().close({draft.draft.id, first.at.inc});
  const auto second = ask().open(draft);
  ASSERT_EQ(second.what, status::ok);
  core::leave_request late;
  late.name = lock_name("a");
  late.id = draft.draft.id;
  late.inc = first.at.inc;
  late.request = 1;
  late.move_gate = true;
  EXPECT_EQ(ask().leave(late).what, status::gone);
  core::enqueue_request r;
  r.name = late.name;
  r.id = late.id;
  r.inc = second.at.inc;
  r.gate = second.gate;
  r.request = 1;
  EXPECT_EQ(ask().enqueue(r).what, status::ok) << "its gate is the one that it was told";
}

TEST_P(engine_queues, orders_grow_over_every_name_and_every_end) {
  token last{};
  std::vector<member> all;
  for (int i = 0; i < 8; ++i) all.emplace_back(ask());
  for (int round = 0; round < 100; ++round) {
    auto& m = all[static_cast<std::size_t>(round) % all.size()];
    const std::string name = "n" + std::to_string(round % 5);
    const auto v = m.enqueue(name);
    ASSERT_GT(v.mine, last);
    last = v.mine;
    if (round % 3 == 0) m.leave(name, v.mine);
    if (round % 7 == 0) {
      m.close();
      m = member(ask());
    }
  }
}

TEST_P(engine_queues, one_session_may_hold_many_names) {
  const int names = fewer_on_clusters(2000);
  auto m = join();
  std::vector<token> orders;
  for (int i = 0; i < names; ++i) {
    const auto v = m.enqueue("name " + std::to_string(i));
    ASSERT_EQ(v.what, status::ok) << i << ' ' << v.text;
    orders.push_back(v.mine);
  }
  EXPECT_EQ(ask().list().locks.size(), static_cast<std::size_t>(names));
  EXPECT_EQ(m.beat().what, status::ok);
  for (int i = 0; i < names; ++i) {
    ASSERT_EQ(m.confirm("name " + std::to_string(i), orders[static_cast<std::size_t>(i)]).what,
              status::ok);
  }
  m.close();
  EXPECT_TRUE(ask().list().locks.empty());
}

TEST_P(engine_queues, dead_entries_are_no_obstacle_and_are_swept) {
  const int entries = fewer_on_clusters(500);
  auto last = join();
  for (int round = 0; round < 3; ++round) {
    auto dying = join();
    for (int i = 0; i < entries; ++i) dying.enqueue("a", mode::shared());
    dying.close();
    const auto v = last.enqueue("a");
    EXPECT_EQ(v.what, status::ok) << v.text;
    last.leave("a", v.mine);
  }
  EXPECT_TRUE(ask().list().locks.empty());
}

TEST_P(engine_queues, ten_thousand_live_entries_are_the_limit) {
  std::vector<member> all;
  for (int i = 0; i < 10; ++i) all.emplace_back(ask());
  std::vector<token> orders;
  for (std::size_t i = 0; i < core::waiters_max; ++i) {
    const auto v = all[i % all.size()].enqueue("a", mode::shared());
    ASSERT_EQ(v.what, status::ok) << i << ' ' << v.text;
    orders.push_back(v.mine);
  }
  auto late = join();
  EXPECT_EQ(late.enqueue("a", mode::shared()).what, status::too_many);
  EXPECT_EQ(late.attempt("a").what, status::busy) << "a try needs no room";
  EXPECT_EQ(late.enqueue("b").what, status::ok) << "the limit is per name";
  const auto all_listed = ask().list();
  ASSERT_NE(find_lock(all_listed, "a"), nullptr);
  EXPECT_EQ(find_lock(all_listed, "a")->entries.size(), core::waiters_max);

  all[0].leave("a", orders[0]);
  const auto v = late.enqueue("a");
  EXPECT_EQ(v.what, status::queued);
  EXPECT_EQ(v.ahead.size(), core::waiters_max - 1);
  EXPECT_TRUE(std::is_sorted(v.ahead.begin(), v.ahead.end(),
                             [](const auto& x, const auto& y) { return x.order < y.order; }));
  for (auto& m : all) m.close();
  EXPECT_EQ(late.confirm("a", v.mine).what, status::ok);
}

TEST_P(engine_queues, a_long_exclusive_queue_drains_in_order) {
  const int length = count(1'000, 10'000);
  std::vector<member> all;
  for (int i = 0; i < length; ++i) all.emplace_back(ask());
  std::vector<token> orders;
  for (auto& m : all) orders.push_back(m.enqueue("a").mine);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i].confirm("a", orders[i]).what, status::ok) << i;
    if (i % 2 == 0) {
      all[i].leave("a", orders[i]);
    } else {
      all[i].close();
    }
  }
}

}  // namespace
}  // namespace holdfast::conformance
