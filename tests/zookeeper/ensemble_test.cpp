#include "engines/zookeeper/diagnose.hpp"
#include "tests/zookeeper/engine_fixture.hpp"

#include <algorithm>
#include <atomic>

/// Three real servers, some of which are gone, hang or come back.

namespace holdfast::zookeeper_tests {
namespace {

constexpr auto patience = 60s;

bool eventually(const std::function<bool()>& condition) {
  return process::eventually(condition, patience);
}

TEST(zookeeper_ensemble, everything_goes_on_after_the_server_that_was_asked_was_killed) {
  servers s(3);
  client c(s.url() + "?node_timeout=2s");
  auto m = c.eventually_join();
  token last{};
  for (int round = 0; round < 3; ++round) {
    core::queue_view v;
    ASSERT_TRUE(eventually([&] {
      v = m.enqueue("a");
      if (v.what == status::ok) return true;
      m.leave_unknown("a", m.last_request());
      return false;
    })) << v.text;
    EXPECT_GT(v.mine, last);
    last = v.mine;
    const auto asked = c.connected_to(s);
    s.at(asked).kill();
    ASSERT_TRUE(eventually([&] { return m.beat().what == status::ok; }));
    ASSERT_TRUE(eventually([&] { return m.confirm("a", v.mine).what == status::ok; }));
    ASSERT_TRUE(eventually([&] { return m.leave("a", v.mine).what == status::ok; }));
    s.at(asked).launch();
    s.await();
  }
}

TEST(zookeeper_ensemble, everything_goes_on_after_the_leader_was_killed) {
  servers s(3);
  client c(s.url() + "?node_timeout=2s");
  auto m = c.eventually_join();
  const auto v = m.enqueue("a");
  ASSERT_EQ(v.what, status::ok) << v.text;
  s.at(s.leader()).kill();
  ASSERT_TRUE(eventually([&] { return m.beat().what == status::ok; }));
  ASSERT_TRUE(eventually([&] { return m.confirm("a", v.mine).what == status::ok; }));
  auto other = c.eventually_join();
  core::queue_view w;
  ASSERT_TRUE(eventually([&] {
    w = other.attempt("a");
    return w.what == status::busy;
  })) << w.text;
  ASSERT_TRUE(eventually([&] { return m.leave("a", v.mine).what == status::ok; }));
  ASSERT_TRUE(eventually([&] {
    w = other.attempt("a");
    return w.what == status::ok;
  })) << w.text;
  EXPECT_GT(w.mine, v.mine) << "a new leader's transactions are larger";
}

TEST(zookeeper_ensemble, an_enqueue_that_a_server_still_has_does_not_apply_behind_the_gate) {
  servers s(3);
  client c(s.url() + "?node_timeout=1s");
  auto m = c.eventually_join();
  const auto asked = c.connected_to(s);
  s.at(asked).stop();
  // It lies in the stopped server's socket.
  const auto v = m.enqueue("a");
  EXPECT_TRUE(v.what == status::unknown || v.what == status::unavailable) << v.what;
  ASSERT_TRUE(
      eventually([&] { return m.leave_unknown("a", m.last_request()).what == status::ok; }));
  s.at(asked).resume();
  s.await();
  // What that server does with it, it has done when it answers a later question of its own.
  client there("zookeeper://" + s.at(asked).address() + "/t?node_timeout=20s");
  core::listing all;
  ASSERT_TRUE(eventually([&] {
    all = there.ask().list();
    return all.what == status::ok;
  }));
  EXPECT_TRUE(all.locks.empty());
  EXPECT_TRUE(eventually([&] { return m.enqueue("a").what == status::ok; }));
}

TEST(zookeeper_ensemble, a_waiter_whose_server_is_killed_is_told_of_the_release) {
  servers s(3);
  client holding(s.url() + "?node_timeout=2s");
  client waiting(s.url() + "?node_timeout=2001ms");
  auto holder = holding.eventually_join();
  auto waiter = waiting.eventually_join();
  const auto held = holder.enqueue("a");
  ASSERT_EQ(held.what, status::ok) << held.text;
  const auto v = waiter.enqueue("a");
  ASSERT_EQ(v.what, status::queued) << v.text;
  std::atomic<int> told{0};
  auto watch = waiting.engine->watch({lock_name("a"), v.mine, v.targets}, [&] { ++told; });
  ASSERT_EQ(waiting.ask().list().what, status::ok) << "the watch stands";
  s.at(waiting.connected_to(s)).kill();
  ASSERT_TRUE(eventually([&] { return holder.leave("a", held.mine).what == status::ok; }));
  EXPECT_TRUE(eventually([&] { return told > 0; }));
  EXPECT_TRUE(eventually([&] { return waiter.confirm("a", v.mine).what == status::ok; }));
}

// They are given up inside the call that tells of the loss, and the connection with them.
TEST(zookeeper_ensemble, waiters_with_more_watches_than_can_be_set_again_get_their_locks) {
  // The paths of so many long names have more than 256 KB.
  constexpr std::size_t names = 180;
  servers s;
  client c(s.url() + "?node_timeout=20s");
  auto holder = c.eventually_join(1h);
  auto waiter = c.eventually_join(1h);
  std::vector<std::string> all;
  std::vector<token> held;
  std::vector<core::queue_view> waits;
  for (std::size_t i = 0; i < names; ++i) {
    const auto number = std::to_string(i);
    all.push_back(number + std::string(lock_name::bytes_max - number.size(), '\xff'));
    held.push_back(holder.enqueue(all[i]).mine);
    waits.push_back(waiter.enqueue(all[i]));
    ASSERT_EQ(waits[i].what, status::queued) << waits[i].text;
  }
  std::atomic<std::size_t> told{0};
  std::vector<std::unique_ptr<core::watch_handle>> watches(names);
  const auto watch_all = [&] {
    told = 0;
    for (std::size_t i = 0; i < names; ++i) {
      watches[i] =
          c.engine->watch({lock_name(all[i]), waits[i].mine, waits[i].targets}, [&] { ++told; });
    }
    EXPECT_EQ(c.ask().list().what, status::ok) << "the watches stand";
  };
  watch_all();
  EXPECT_EQ(told, 0U);
  s.at(0).kill();
  EXPECT_TRUE(eventually([&] { return told == names; })) << told;
  s.at(0).launch();
  s.await();
  for (std::size_t i = 0; i < names; ++i) {
    ASSERT_TRUE(
        eventually([&] { return waiter.confirm(all[i], waits[i].mine).what == status::queued; }));
  }
  watch_all();
  for (std::size_t i = 0; i < names; ++i) {
    ASSERT_EQ(holder.leave(all[i], held[i]).what, status::ok);
  }
  EXPECT_TRUE(eventually([&] { return told == names; })) << told;
  for (std::size_t i = 0; i < names; ++i) {
    EXPECT_EQ(waiter.confirm(all[i], waits[i].mine).what, status::ok);
  }
  watches.clear();
}

TEST(zookeeper_ensemble, without_a_quorum_everything_is_refused_in_time) {
  servers s(3);
  client c(s.url() + "?node_timeout=500ms");
  auto m = c.eventually_join();
  s.at(0).kill();
  s.at(1).kill();
  const auto begun = clock::now();
  const auto v = m.enqueue("a");
  EXPECT_TRUE(v.what == status::unknown || v.what == status::unavailable) << v.what;
  EXPECT_FALSE(v.text.empty());
  EXPECT_TRUE(eventually([&] { return m.beat().what != status::ok; }));
  EXPECT_LT(clock::now() - begun, patience);
  EXPECT_NE(c.open().what, status::ok);
}

// One loop is driven for all of them.
TEST(zookeeper_ensemble, who_closes_at_a_server_that_hangs_keeps_no_other_store_waiting) {
  servers hanging;
  servers healthy;
  client other(healthy.url() + "?node_timeout=20s");
  ASSERT_TRUE(eventually([&] { return other.open().what == status::ok; }));
  std::vector<std::unique_ptr<client>> idle;
  for (int i = 0; i < 4; ++i) {
    idle.push_back(std::make_unique<client>(hanging.url() + "?node_timeout=20s"));
    ASSERT_TRUE(eventually([&] { return idle.back()->ask().list().what == status::ok; }));
  }
  hanging.at(0).stop();
  const auto begun = clock::now();
  for (const auto& c : idle) c->servers->close();
  other.on_loop([] { return true; });
  // Telling the server took 1.5 s for each of them.
  EXPECT_LT(clock::now() - begun, 3s);
  hanging.at(0).resume();
}

// Else each short run of the program would leave it a session, and a warning in its log.
TEST(zookeeper_ensemble, who_closes_the_only_store_tells_the_server) {
  servers s;
  client c(s.url() + "?node_timeout=20s");
  ASSERT_TRUE(eventually([&] { return c.ask().list().what == status::ok; }));
  EXPECT_NE(s.at(0).ask("mntr").find("zk_global_sessions\t1\n"), std::string::npos);
  c.servers->close();
  c.on_loop([] { return true; });
  EXPECT_NE(s.at(0).ask("mntr").find("zk_global_sessions\t0\n"), std::string::npos);
}

TEST(zookeeper_ensemble, a_server_that_serves_reads_only_is_no_good_one) {
  servers s(3, {.properties = {"-Dreadonlymode.enabled=true"}});
  client c(s.url() + "?node_timeout=1s");
  auto m = c.eventually_join();
  s.at(0).kill();
  s.at(1).kill();
  ASSERT_TRUE(
      eventually([&] { return s.at(2).ask("srvr").find("read-only") != std::string::npos; }));
  EXPECT_NE(m.beat().what, status::ok);
  EXPECT_NE(c.ask().list().what, status::ok);
  const auto found = engines::zookeeper::diagnose(c.servers);
  ASSERT_TRUE(found);
  for (const auto& f : *found) {
    EXPECT_FALSE(f.subject == "server" && f.severity == severity::good) << f.text;
  }
}

TEST(zookeeper_ensemble, local_sessions_are_warned_of) {
  for (const bool are_local : {false, true}) {
    server_options o;
    if (are_local) o.settings = {"localSessionsEnabled=true"};
    servers s(3, o);
    client c(s.url() + "?node_timeout=2s");
    c.await(status::ok);
    const auto found = engines::zookeeper::diagnose(c.servers);
    ASSERT_TRUE(found);
    const auto warned = std::ranges::count_if(*found, [](const finding& f) {
      return f.severity == severity::warning &&
             f.text.find("localSessionsEnabled") != std::string::npos;
    });
    EXPECT_EQ(warned, are_local ? 1 : 0);
  }
}

TEST(zookeeper_ensemble, sessions_and_locks_survive_a_restart_of_all_servers) {
  servers s(3);
  client c(s.url() + "?node_timeout=2s");
  auto m = c.eventually_join();
  const auto v = m.enqueue("a");
  ASSERT_EQ(v.what, status::ok) << v.text;
  for (std::size_t i = 0; i < s.size(); ++i) s.at(i).kill();
  EXPECT_NE(m.beat().what, status::ok);
  for (std::size_t i = 0; i < s.size(); ++i) s.at(i).launch();
  s.await();
  ASSERT_TRUE(eventually([&] { return m.beat().what == status::ok; }));
  EXPECT_TRUE(eventually([&] { return m.confirm("a", v.mine).what == status::ok; }));
  auto other = c.eventually_join();
  core::queue_view w;
  EXPECT_TRUE(eventually([&] {
    w = other.attempt("a");
    return w.what == status::busy;
  })) << w.text;
}

TEST(zookeeper_ensemble, servers_restarted_one_by_one_lose_nothing) {
  servers s(3);
  client c(s.url() + "?node_timeout=2s");
  auto m = c.eventually_join();
  const auto v = m.enqueue("a");
  ASSERT_EQ(v.what, status::ok) << v.text;
  for (std::size_t i = 0; i < s.size(); ++i) {
    s.at(i).kill();
    ASSERT_TRUE(eventually([&] { return m.beat().what == status::ok; }));
    s.at(i).launch();
    s.await();
    ASSERT_TRUE(eventually([&] { return m.beat().what == status::ok; }));
  }
  EXPECT_TRUE(eventually([&] { return m.confirm("a", v.mine).what == status::ok; }));
}

}  // namespace
}  // namespace holdfast::zookeeper_tests
