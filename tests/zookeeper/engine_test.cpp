#include "tests/zookeeper/engine_fixture.hpp"

#include <atomic>
#include <stop_token>
#include <thread>

/// What things cost on one server, and what they leave behind.

namespace holdfast::zookeeper_tests {
namespace {

using engines::zookeeper::children_of;

class zookeeper_engine : public testing::Test {
 protected:
  static servers& one() {
    static servers running;
    return running;
  }
  static std::string url(const std::string& query = "node_timeout=20s") {
    static int roots = 0;
    return one().url("t" + std::to_string(++roots)) + "?" + query;
  }
};

TEST_F(zookeeper_engine, acquire_release_and_a_beat_are_one_flight_each) {
  client c(url());
  auto m = c.join();
  for (int i = 0; i < 100; ++i) m.enqueue("kept " + std::to_string(i));
  c.await_swept();
  const auto before = c.batches();
  const auto held = m.enqueue("never seen before");
  ASSERT_EQ(held.what, status::ok);
  EXPECT_EQ(c.batches(), before + 1);
  EXPECT_EQ(m.beat().what, status::ok);
  EXPECT_EQ(c.batches(), before + 2) << "one beat for all 101 locks";
  EXPECT_EQ(m.leave("never seen before", held.mine).what, status::ok);
  EXPECT_EQ(c.batches(), before + 3);
  EXPECT_EQ(m.attempt("never seen before").what, status::ok);
  EXPECT_EQ(c.batches(), before + 4) << "a try, of a name that was seen empty";
}

TEST_F(zookeeper_engine, a_release_wakes_one_of_many_waiters) {
  constexpr std::size_t waiters = 200;
  client c(url());
  auto holder = c.join();
  const auto held = holder.enqueue("a");
  std::vector<member> all;
  std::vector<core::queue_view> views;
  std::vector<std::unique_ptr<core::watch_handle>> watches;
  std::atomic<std::size_t> told{0};
  std::atomic<std::size_t> first{0};
  for (std::size_t i = 0; i < waiters; ++i) {
    views.push_back(all.emplace_back(c.ask()).enqueue("a"));
    ASSERT_EQ(views.back().what, status::queued);
    watches.push_back(
        c.engine->watch({lock_name("a"), views.back().mine, views.back().targets}, [&, i] {
          ++told;
          if (i == 0) ++first;
        }));
  }
  // All watches stand when what was asked after them is answered.
  ASSERT_EQ(c.ask().list().what, status::ok);
  const auto before = c.batches();
  holder.leave("a", held.mine);
  EXPECT_TRUE(process::eventually([&] { return first == 1; }));
  EXPECT_EQ(all[0].confirm("a", views[0].mine).what, status::ok);
  EXPECT_EQ(told, 1U);
  EXPECT_EQ(c.batches(), before + 2) << "the release, and one confirm";
  watches.clear();
}

// Of many sessions one always beats between two looks at them.
TEST_F(zookeeper_engine, a_list_does_not_wait_for_heartbeats_to_cease) {
  const auto shared = url("node_timeout=3s");
  client c(shared);
  std::vector<member> all;
  for (int i = 0; i < 100; ++i) all.push_back(c.eventually_join());
  client other(shared);
  std::vector<std::jthread> beating;
  for (int i = 0; i < 4; ++i) {
    beating.emplace_back([&](const std::stop_token& stop) {
      for (std::size_t k = 0; !stop.stop_requested(); ++k) {
        const auto& m = all[k % all.size()];
        other.ask().beat({m.id(), m.inc(), k});
      }
    });
  }
  for (int i = 0; i < 5; ++i) {
    const auto listed = c.ask().list();
    ASSERT_EQ(listed.what, status::ok) << listed.text;
    EXPECT_EQ(listed.sessions.size(), all.size());
  }
}

TEST_F(zookeeper_engine, a_list_is_of_one_moment_among_heartbeats) {
  const auto shared = url();
  client c(shared);
  client other(shared + "0ms");
  auto mover = c.join();
  auto beating = other.join();
  // One of two names is always held: first the new one is taken, then the old one left.
  auto held = mover.enqueue("left");
  std::jthread moves([&](const std::stop_token& stop) {
    for (std::size_t at = 0; !stop.stop_requested(); at = 1 - at) {
      const std::string names[2] = {"left", "right"};
      const auto next = mover.enqueue(names[1 - at]);
      mover.leave(names[at], held.mine);
      held = next;
    }
  });
  std::jthread beats([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) beating.beat();
  });
  std::uint64_t beat = 0;
  for (int i = 0; i < 100; ++i) {
    const auto all = c.ask().list();
    ASSERT_EQ(all.what, status::ok) << all.text;
    EXPECT_GE(all.locks.size(), 1U);
    ASSERT_EQ(all.sessions.size(), 2U);
    const auto& seen = all.sessions[all.sessions[0].id == beating.id() ? 0 : 1];
    EXPECT_GE(seen.at.beat, beat);
    beat = seen.at.beat;
  }
  EXPECT_GT(beat, 0U);
}

// By this a list notices it, which leaves out how a record's data has changed.
TEST_F(zookeeper_engine, a_denial_changes_what_is_below_the_record) {
  client c(url());
  auto m = c.join();
  const auto stat = [&] {
    return c.send({engines::zookeeper::get(c.servers->where().session(m.id()))}).replies.at(0).stat;
  };
  ASSERT_EQ(m.beat().what, status::ok);
  EXPECT_LT(stat().children_changed, stat().modified);
  ASSERT_EQ(c.ask().deny({m.id(), "somebody", "a test"}).what, status::ok);
  EXPECT_EQ(stat().children_changed, stat().modified);
}

TEST_F(zookeeper_engine, two_clients_of_one_store_see_each_other) {
  const auto shared = url();
  client a(shared);
  client b(shared + "0ms");
  auto holder = a.join();
  auto waiter = b.join();
  for (int round = 0; round < 50; ++round) {
    const auto held = holder.enqueue("a");
    ASSERT_EQ(held.what, status::ok) << held.text;
    const auto v = waiter.enqueue("a");
    ASSERT_EQ(v.what, status::queued);
    EXPECT_EQ(waiter.attempt("a").what, status::busy);
    std::atomic<bool> told{false};
    auto watch = b.engine->watch({lock_name("a"), v.mine, v.targets}, [&] { told = true; });
    holder.leave("a", held.mine);
    ASSERT_TRUE(process::eventually([&] { return told.load(); })) << round;
    ASSERT_EQ(waiter.confirm("a", v.mine).what, status::ok);
    watch.reset();
    waiter.leave("a", v.mine);
  }
}

TEST_F(zookeeper_engine, a_try_is_not_fooled_by_a_queue_that_was_made_again) {
  const auto shared = url();
  client a(shared);
  client b(shared + "0ms");
  auto first = a.join();
  auto second = b.join();
  const auto held = first.attempt("a");
  ASSERT_EQ(held.what, status::ok);
  first.leave("a", held.mine);
  // What the servers do by themselves with an empty container, and then its version begins anew.
  const auto queue = a.servers->where().queue(lock_name("a"));
  ASSERT_TRUE(a.send({engines::zookeeper::remove(queue)}).replies.at(0).ok());
  ASSERT_EQ(second.attempt("a").what, status::ok);
  EXPECT_EQ(first.attempt("a").what, status::busy);
  EXPECT_EQ(a.ask().list().locks.at(0).entries.size(), 1U);
}

TEST_F(zookeeper_engine, entries_of_the_dead_are_swept_without_anybody_asking_for_their_names) {
  client c(url());
  auto dying = c.join();
  for (int i = 0; i < 20; ++i) dying.enqueue("n" + std::to_string(i));
  auto other = c.join();
  ASSERT_EQ(c.ask().take({dying.id(), dying.record().at}).what, status::ok);
  const auto entries = [&] {
    const auto queues = c.send({children_of(c.servers->where().queues())}).replies.at(0).names;
    std::size_t count = 0;
    for (const auto& q : queues) {
      count +=
          c.send({children_of(c.servers->where().queues() + "/" + q)}).replies.at(0).names.size();
    }
    return count;
  };
  EXPECT_TRUE(process::eventually([&] { return entries() == 0; }));
}

TEST_F(zookeeper_engine, entries_of_the_dead_are_found_by_programs_that_open_one_session) {
  const std::string store = url();
  client c(store);
  auto living = c.join();
  for (int i = 100; i < 200; ++i) {
    ASSERT_EQ(living.enqueue("n" + std::to_string(i)).what, status::ok);
  }
  auto dying = c.join();
  ASSERT_EQ(dying.enqueue("z").what, status::ok);
  ASSERT_EQ(c.ask().take({dying.id(), dying.record().at}).what, status::ok);
  const auto is_there = [&] {
    const auto queue = c.servers->where().queue(lock_name("z"));
    return !c.send({children_of(queue)}).replies.at(0).names.empty();
  };
  // Each looks at a third of the names, in a few round trips.
  int programs = 0;
  for (; is_there() && programs < 200; ++programs) {
    const client program(store);
    auto m = program.join();
    for (int beats = 0; beats < 8; ++beats) m.beat();
  }
  EXPECT_LT(programs, 200);
}

TEST_F(zookeeper_engine, no_ephemeral_node_is_made) {
  client c(url());
  auto m = c.join();
  m.enqueue("a");
  const auto dump = one().at(0).ask("dump");
  EXPECT_NE(dump.find("Sessions with Ephemerals (0)"), std::string::npos) << dump;
}

}  // namespace
}  // namespace holdfast::zookeeper_tests
