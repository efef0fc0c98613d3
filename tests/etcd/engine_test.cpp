#include "engines/etcd/codec.hpp"
#include "engines/etcd/diagnose.hpp"
#include "tests/etcd/engine_fixture.hpp"

#include <holdfast/session.hpp>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

/// One real server: round trips, epochs, compaction, what is in the way.

namespace holdfast::etcd_tests {
namespace {

/// A client that has done what opening a session leaves to do.
std::uint64_t settled(const client& c) {
  // Nothing says that it has: a busy machine may keep what is left to do waiting for a while.
  constexpr int enough = 5;
  auto before = c.calls();
  for (int quiet = 0; quiet < enough; ++quiet) {
    std::this_thread::sleep_for(100ms);
    const auto now = c.calls();
    if (now != before) quiet = -1;
    before = now;
  }
  return before;
}

/// What as many enqueues, all on the way at once, are answered: for `prefix` and a number.
std::vector<core::queue_view> enqueue_at_once(core::engine& e, conformance::member& m,
                                              const std::string& prefix, std::size_t many) {
  std::vector<core::queue_view> all(many);
  std::atomic<std::size_t> missing{many};
  std::promise<void> answered;
  for (std::size_t i = 0; i < many; ++i) {
    e.enqueue(m.next_request(prefix + std::to_string(i)), [&, i](core::queue_view v) {
      all[i] = std::move(v);
      if (--missing == 0) answered.set_value();
    });
  }
  answered.get_future().wait();
  return all;
}

TEST(etcd_engine, an_uncontended_acquire_and_its_release_are_one_call_each) {
  servers s;
  client c(s.url());
  auto m = c.join();
  settled(c);
  for (const auto how : {mode::exclusive(), mode::shared(), mode::permits(3)}) {
    for (const bool waits : {true, false}) {
      const auto before = c.calls();
      const auto v = waits ? m.enqueue("a", how) : m.attempt("a", how);
      ASSERT_EQ(v.what, status::ok);
      EXPECT_EQ(c.calls(), before + 1);
      EXPECT_EQ(m.leave("a", v.mine).what, status::ok);
      EXPECT_EQ(c.calls(), before + 2);
    }
  }
}

TEST(etcd_engine, a_beat_is_one_call_however_many_locks_are_held) {
  servers s;
  client c(s.url());
  auto m = c.join();
  for (int i = 0; i < 300; ++i) ASSERT_EQ(m.enqueue("n" + std::to_string(i)).what, status::ok);
  const auto before = settled(c);
  EXPECT_EQ(m.beat().what, status::ok);
  EXPECT_EQ(c.calls(), before + 1);
}

TEST(etcd_engine, sessions_that_died_elsewhere_go_though_nobody_waits_for_their_locks) {
  servers s;
  const std::string url = s.url() + "?node_timeout=500ms";
  client c(url);
  for (int i = 0; i < 8; ++i) {
    auto m = c.join(1s);
    ASSERT_EQ(m.enqueue("n" + std::to_string(i)).what, status::ok);
  }
  const auto living = holdfast::open(url, {.ttl = 10s});
  ASSERT_TRUE(living) << living.error().message();
  EXPECT_TRUE(process::eventually([&] { return c.ask().list().sessions.size() == 1; }, 90s));
  EXPECT_EQ(living->status().state, session_state::attached);
}

TEST(etcd_engine, a_list_longer_than_a_page_is_one_picture) {
  servers s;
  client c(s.url());
  auto m = c.join();
  constexpr std::size_t count = 2'500;
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(m.enqueue("n" + std::to_string(i)).what, status::ok);
  }
  const auto before = settled(c);
  const auto all = c.ask().list();
  ASSERT_EQ(all.what, status::ok) << all.text;
  EXPECT_EQ(all.locks.size(), count);
  EXPECT_EQ(all.sessions.size(), 1U);
  EXPECT_EQ(c.calls(), before + 2) << "the second page only";
  EXPECT_EQ(m.close().what, status::ok);
  EXPECT_TRUE(c.ask().list().locks.empty());
}

// Nobody but the next in line is woken, and it asks once.
TEST(etcd_engine, a_release_wakes_one_of_many_waiters) {
  servers s;
  client c(s.url());
  auto holder = c.join();
  const auto held = holder.enqueue("a");
  constexpr std::size_t count = 100;
  std::vector<member> waiters;
  std::vector<std::unique_ptr<core::watch_handle>> watches;
  std::vector<std::atomic<int>> told(count);
  for (std::size_t i = 0; i < count; ++i) {
    waiters.push_back(c.join());
    const auto v = waiters.back().enqueue("a");
    ASSERT_EQ(v.what, status::queued);
    watches.push_back(
        c.engine->watch({lock_name("a"), v.mine, v.targets}, [&told, i] { ++told[i]; }));
  }
  // Until all watches are there and have been looked after.
  const auto before = settled(c);
  holder.leave("a", held.mine);
  ASSERT_TRUE(process::eventually([&] { return told[0] > 0; }));
  EXPECT_LE(c.calls(), before + 2);
  for (std::size_t i = 1; i < count; ++i) EXPECT_EQ(told[i], 0) << i;
  watches.clear();
}

// A record that nobody can read is in the way of who reads it, and of nobody else.
TEST(etcd_engine, of_a_long_queue_only_the_sessions_of_those_ahead_are_read) {
  servers s;
  client c(s.url());
  auto holder = c.join();
  const auto held = holder.enqueue("a");
  s.control({"put", "t/s/" + conformance::fresh_id().str(), "by hand"});
  constexpr std::size_t count = 150;
  std::vector<member> waiters;
  core::queue_view last;
  for (std::size_t i = 0; i < count; ++i) {
    last = waiters.emplace_back(c.ask()).enqueue("a");
    ASSERT_EQ(last.what, status::queued) << last.text;
    ASSERT_EQ(last.ahead.size(), i + 1);
  }
  auto before = settled(c);
  const auto seen = waiters.back().confirm("a", last.mine);
  ASSERT_EQ(seen.what, status::queued) << seen.text;
  EXPECT_EQ(conformance::orders_of(seen.ahead), conformance::orders_of(last.ahead));
  EXPECT_EQ(seen.ahead.front().order, held.mine);
  EXPECT_EQ(c.calls(), before + 4) << "the queue, and the sessions in three parts";

  auto late = c.join();
  before = settled(c);
  EXPECT_EQ(late.attempt("a").what, status::busy);
  EXPECT_EQ(c.calls(), before + 4);
  ASSERT_EQ(late.enqueue("a").what, status::queued);
  EXPECT_EQ(c.calls(), before + 8) << "a part goes with the entry";

  // Who looks for entries of the dead meets all of these.
  auto dying = c.join();
  ASSERT_EQ(dying.enqueue("b").what, status::ok);
  client other(s.url());
  ASSERT_EQ(other.ask().take({dying.id(), dying.opened_at()}).what, status::ok);
  EXPECT_TRUE(process::eventually([&] { return s.count("t/q/b/") == 0; }));
}

TEST(etcd_engine, waiters_look_again_when_history_was_compacted_meanwhile) {
  servers s;
  client c(s.url());
  auto holder = c.join();
  auto waiter = c.join();
  holder.enqueue("a");
  const auto v = waiter.enqueue("a");
  std::atomic<int> told{0};
  const auto watch = c.engine->watch({lock_name("a"), v.mine, v.targets}, [&] { ++told; });
  for (int i = 0; i < 10; ++i) ASSERT_EQ(holder.beat().what, status::ok);
  const auto now = c.ask().list().revision;
  ASSERT_FALSE(s.control({"compact", std::to_string(now)}).empty());
  EXPECT_EQ(told, 0);
  // The watch begins again on a new connection, at a revision that is gone.
  s.at(0).kill();
  s.at(0).launch();
  EXPECT_TRUE(process::eventually([&] { return told > 0; }));
  EXPECT_EQ(waiter.confirm("a", v.mine).what, status::queued);
}

TEST(etcd_engine, a_watch_survives_the_server) {
  servers s;
  client c(s.url());
  auto holder = c.join();
  auto waiter = c.join();
  const auto held = holder.enqueue("a");
  const auto v = waiter.enqueue("a");
  std::atomic<int> told{0};
  const auto watch = c.engine->watch({lock_name("a"), v.mine, v.targets}, [&] { ++told; });
  ASSERT_EQ(holder.beat().what, status::ok);
  s.at(0).kill();
  s.at(0).launch();
  s.await_leader();
  ASSERT_TRUE(process::eventually([&] { return holder.leave("a", held.mine).what == status::ok; }));
  EXPECT_TRUE(process::eventually([&] { return told > 0; }));
  EXPECT_EQ(waiter.confirm("a", v.mine).what, status::ok);
}

// A restored backup is another cluster, whose revisions begin again where it was made.
TEST(etcd_engine, tokens_grow_when_the_cluster_becomes_another_one) {
  servers s;
  token last{};
  for (std::uint64_t round = 1; round <= 3; ++round) {
    client c(s.url());
    auto m = c.join();
    const auto v = m.enqueue("a");
    ASSERT_EQ(v.what, status::ok);
    EXPECT_GT(v.mine, last);
    EXPECT_EQ(v.mine.value >> engines::etcd::revision_bits, round - 1);
    last = v.mine;
    m.close();
    ASSERT_EQ(c.write_epoch(round, 4711), status::ok);
  }
}

// What is bound to the store goes on to accept its tokens, which go on to grow.
TEST(etcd_engine, the_identity_of_a_store_stays_when_its_cluster_is_another_one) {
  servers s;
  client c(s.url());
  auto m = c.join();
  const auto before = c.servers->identity();
  EXPECT_NE(before, core::store_id{});
  ASSERT_EQ(c.write_epoch(c.servers->epoch().value.number, 4711), status::ok);
  ASSERT_EQ(m.enqueue("a").what, status::ok);
  EXPECT_EQ(c.servers->identity(), before);
  client second(s.url());
  auto n = second.join();
  EXPECT_EQ(second.servers->identity(), before);
}

TEST(etcd_engine, a_running_client_takes_part_in_a_new_epoch) {
  servers s;
  client c(s.url());
  auto m = c.join();
  const auto before = m.enqueue("a");
  ASSERT_EQ(c.write_epoch(5, c.servers->epoch().value.cluster), status::ok);
  const auto v = m.enqueue("b");
  ASSERT_EQ(v.what, status::ok) << v.text;
  EXPECT_EQ(v.mine.value >> engines::etcd::revision_bits, 4U);
  EXPECT_EQ(m.confirm("a", before.mine).what, status::ok);
  EXPECT_EQ(m.leave("a", before.mine).what, status::ok);
  EXPECT_EQ(c.ask().list().locks.size(), 1U);
}

TEST(etcd_engine, foreign_data_below_the_prefix_is_named_and_not_guessed_at) {
  servers s;
  client c(s.url());
  auto m = c.join();
  s.control({"put", "t/q/a/x/junk", "foreign"});
  auto v = m.enqueue("a");
  EXPECT_TRUE(v.what == status::damaged || v.what == status::unknown) << v.what;
  EXPECT_NE(v.text.find("t/q/a/x/junk"), std::string::npos) << v.text;
  EXPECT_EQ(c.ask().list().what, status::damaged);
  EXPECT_EQ(m.enqueue("b").what, status::ok) << "other names are not concerned";
}

TEST(etcd_engine, a_session_whose_record_is_damaged_is_neither_denied_nor_taken_for_gone) {
  servers s;
  client c(s.url());
  auto m = c.join();
  auto seen = m.record().at;
  const std::string key = "t/s/" + m.id().str();
  s.control({"put", key, "by hand"});
  const auto denied = c.ask().deny({m.id(), "somebody", "a test"});
  EXPECT_EQ(denied.what, status::damaged) << denied.text;
  EXPECT_NE(denied.text.find(key), std::string::npos) << denied.text;
  EXPECT_EQ(s.count(key + "/"), 0U) << "refused, and written all the same";
  ++seen.beat;
  const auto taken = c.ask().take({m.id(), seen});
  EXPECT_EQ(taken.what, status::damaged) << taken.text;
}

TEST(etcd_engine, a_full_database_refuses_and_says_what_to_do) {
  servers s(1, {.flags = {"--quota-backend-bytes=1048576"}, .tls = false});
  client c(s.url());
  auto m = c.join();
  const auto held = m.enqueue("held");
  const std::string big(100'000, 'x');
  for (int i = 0; i < 30 && s.control({"alarm", "list"}).find("NOSPACE") == std::string::npos;
       ++i) {
    s.control({"put", "other/" + std::to_string(i), big});
  }
  // etcd 3.4 does not count what a nested transaction puts, so that an enqueue still goes through;
  // beats do not, and nobody keeps a lock for longer than a ttl.
  const auto beat = m.beat();
  EXPECT_EQ(beat.what, status::unavailable) << beat.text;
  EXPECT_NE(beat.text.find("--auto-compaction"), std::string::npos) << beat.text;
  EXPECT_EQ(c.ask().open(conformance::draft_of(conformance::fresh_id())).what, status::unavailable);
  EXPECT_EQ(m.confirm("held", held.mine).what, status::ok) << "reading goes on";
  EXPECT_EQ(m.leave("held", held.mine).what, status::ok) << "so does deleting";
}

// The server looks at its quota before a request goes through the log and once more behind it,
// where it answers with the same error and has done the work. It knows its size of the last time
// that it wrote to disk, a tenth of a second ago or, where the disk is slow, much more: as many
// rounds as it takes.
TEST(etcd_engine, an_enqueue_that_a_full_database_refuses_is_not_there) {
  servers s(1, {.flags = {"--quota-backend-bytes=1048576"}, .tls = false});
  client c(s.url() + "?node_timeout=15s");
  auto m = c.join();
  std::size_t refused = 0;
  std::size_t left_behind = 0;
  for (char round = 'a'; round <= 'h' && refused == 0; ++round) {
    const std::string padding(400, round);
    const auto all = enqueue_at_once(*c.engine, m, padding, 4000);
    std::set<std::string> there;
    const auto listed = c.ask().list();
    ASSERT_EQ(listed.what, status::ok) << listed.text;
    for (const auto& l : listed.locks) there.insert(l.name.str());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool is_there = there.contains(padding + std::to_string(i));
      if (all[i].what == status::ok && !is_there) ADD_FAILURE() << i << " is not there";
      if (all[i].what != status::unavailable) continue;
      ++refused;
      if (is_there) ++left_behind;
    }
  }
  EXPECT_GT(refused, 0U);
  EXPECT_EQ(left_behind, 0U);
}

// Which a server may look at before the leave that was sent first.
TEST(etcd_engine, a_try_is_not_refused_for_an_entry_of_the_same_client_that_leaves) {
  servers s;
  client c(s.url());
  auto one = c.join();
  auto two = c.join();
  auto* holder = &one;
  auto* next = &two;
  auto held = one.enqueue("a");
  constexpr int rounds = 60;
  for (int round = 1; round <= rounds; ++round) {
    ASSERT_EQ(held.what, status::ok) << round << ": " << held.text;
    std::promise<core::leave_reply> left;
    c.engine->leave({.name = lock_name("a"),
                     .id = holder->id(),
                     .inc = holder->inc(),
                     .request = holder->last_request(),
                     .order = held.mine},
                    [&left](core::leave_reply r) { left.set_value(std::move(r)); });
    // In the same mode, and in one that does not agree.
    held = next->attempt("a", round % 4 < 2 ? mode::exclusive() : mode::permits(2));
    EXPECT_EQ(left.get_future().get().what, status::ok);
    std::swap(holder, next);
  }
}

TEST(etcd_engine, entries_of_the_dead_go_though_nobody_asks_for_their_names) {
  servers s;
  client c(s.url());
  auto dead = c.join();
  for (int i = 0; i < 250; ++i) ASSERT_EQ(dead.enqueue("n" + std::to_string(i)).what, status::ok);
  ASSERT_EQ(s.count("t/q/"), 250U);
  // By another client, who knows of none of them.
  client other(s.url());
  ASSERT_EQ(other.ask().take({dead.id(), dead.record().at}).what, status::ok);
  // At most a hundred each time; every session that is opened in a new process goes on.
  EXPECT_TRUE(process::eventually([&] {
    client next(s.url());
    next.join().close();
    return s.count("t/q/") == 0;
  }));
}

TEST(etcd_engine, doctor_tells_version_history_and_election) {
  servers s(1, {.flags = {"--heartbeat-interval=100", "--election-timeout=2000"}, .tls = false});
  client c(s.url());
  const auto all = engines::etcd::diagnose(c.servers);
  ASSERT_TRUE(all);
  std::set<std::string> subjects;
  for (const auto& f : *all) {
    subjects.insert(f.subject);
    if (f.subject != "election") continue;
    EXPECT_NE(f.text.find("at most 2s"), std::string::npos) << f.text;
  }
  EXPECT_EQ(subjects, (std::set<std::string>{"server", "cluster", "version", "compaction",
                                             "election", "clocks"}));
}

}  // namespace
}  // namespace holdfast::etcd_tests
