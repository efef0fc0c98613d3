#include "engines/redis/scripts.hpp"
#include "tests/redis/store.hpp"

#include <mutex>

/// How many commands things cost, counted by the server.

namespace holdfast::redis_engine_tests {
namespace {

using namespace std::chrono_literals;

using cost = store_test;

TEST_F(cost, acquire_release_and_a_beat_are_one_script_each) {
  server s;
  const auto o = open(url(s));
  member m(ask(o));
  for (int i = 0; i < 100; ++i) m.enqueue("kept " + std::to_string(i));
  s.command({"CONFIG", "RESETSTAT"});
  const auto held = m.enqueue("a");
  ASSERT_EQ(held.what, status::ok);
  EXPECT_EQ(s.calls("evalsha"), 1);
  m.beat();
  EXPECT_EQ(s.calls("evalsha"), 2) << "one beat for all 101 locks";
  m.leave("a", held.mine);
  EXPECT_EQ(s.calls("evalsha"), 3);
}

TEST_F(cost, a_release_wakes_one_of_a_thousand_waiters) {
  server s;
  const auto o = open(url(s));
  member holder(ask(o));
  std::vector<member> waiters;
  std::vector<core::queue_view> views;
  std::vector<std::unique_ptr<core::watch_handle>> watches;
  std::atomic<int> told{0};
  const auto held = holder.enqueue("a");
  for (int i = 0; i < 1000; ++i) {
    views.push_back(waiters.emplace_back(ask(o)).enqueue("a"));
    const auto& v = views.back();
    ASSERT_EQ(v.what, status::queued);
    watches.push_back(o.engine->watch({lock_name("a"), v.mine, v.targets}, [&] { ++told; }));
  }
  s.command({"CONFIG", "RESETSTAT"});
  holder.leave("a", held.mine);
  EXPECT_TRUE(process::eventually([&] { return told == 1; }));
  EXPECT_EQ(waiters[0].confirm("a", views[0].mine).what, status::ok);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(s.calls("publish"), 1);
  EXPECT_EQ(s.calls("evalsha"), 1) << "the release: its message gives the lock to the next";
  watches.clear();
}

TEST_F(cost, a_hand_over_needs_no_look_of_anybody_else) {
  server s;
  const auto o = open(url(s));
  const auto elsewhere = open(url(s, "&node_timeout=900ms"));
  ASSERT_NE(o.engine, elsewhere.engine) << "two connections";
  member holder(ask(o)), waiter(ask(elsewhere));
  for (int round = 0; round < 100; ++round) {
    const auto held = holder.enqueue("a");
    const auto v = waiter.enqueue("a");
    ASSERT_EQ(v.what, status::queued);
    std::atomic<bool> told{false};
    auto watch = elsewhere.engine->watch({lock_name("a"), v.mine, v.targets}, [&] { told = true; });
    holder.leave("a", held.mine);
    ASSERT_TRUE(process::eventually([&] { return told.load(); })) << round;
    ASSERT_EQ(waiter.confirm("a", v.mine).what, status::ok);
    watch.reset();
    waiter.leave("a", v.mine);
  }
}

TEST_F(cost, without_resp3_a_second_connection_listens) {
  server s({.settings = {"--rename-command", "HELLO", "NOHELLO"}});
  const auto o = open(url(s));
  member holder(ask(o)), waiter(ask(o));
  for (int round = 0; round < 100; ++round) {
    const auto held = holder.enqueue("a");
    const auto v = waiter.enqueue("a");
    ASSERT_EQ(v.what, status::queued) << v.text;
    std::atomic<bool> told{false};
    auto watch = o.engine->watch({lock_name("a"), v.mine, v.targets}, [&] { told = true; });
    holder.leave("a", held.mine);
    ASSERT_TRUE(process::eventually([&] { return told.load(); })) << round;
    // That connection may end at another server: what it says is a hint.
    s.command({"CONFIG", "RESETSTAT"});
    ASSERT_EQ(waiter.confirm("a", v.mine).what, status::ok);
    ASSERT_EQ(s.calls("evalsha"), 1) << round;
    watch.reset();
    waiter.leave("a", v.mine);
  }
  EXPECT_NE(s.command({"CLIENT", "LIST", "TYPE", "pubsub"}).text.find("resp=2"), std::string::npos);
}

TEST_F(cost, a_connection_that_is_lost_wakes_those_who_may_have_missed_something) {
  server s;
  const auto o = open(url(s));
  const auto elsewhere = open(url(s, "&node_timeout=900ms"));
  member holder(ask(o)), waiter(ask(elsewhere));
  const auto held = holder.enqueue("a");
  const auto v = waiter.enqueue("a");
  std::atomic<int> told{0};
  auto watch = elsewhere.engine->watch({lock_name("a"), v.mine, v.targets}, [&] { ++told; });
  s.command({"CLIENT", "KILL", "TYPE", "pubsub"});
  EXPECT_TRUE(process::eventually([&] { return told > 0; }));
}

TEST_F(cost, a_thousand_may_join_one_queue_at_once) {
  server s;
  const auto o = open(url(s, "&node_timeout=10s"));
  std::vector<member> all;
  for (int i = 0; i < 1001; ++i) all.emplace_back(ask(o));
  ASSERT_EQ(all[0].enqueue("a").what, status::ok);
  std::mutex mutex;
  std::string trouble;
  std::atomic<int> answered{0};
  for (int i = 1; i <= 1000; ++i) {
    o.engine->enqueue(all[static_cast<std::size_t>(i)].next_request("a"),
                      [&](const core::queue_view& v) {
                        const std::lock_guard hold(mutex);
                        if (v.what != status::queued) trouble = v.text;
                        ++answered;
                      });
  }
  EXPECT_TRUE(process::eventually([&] { return answered == 1000; }, 100s));
  const std::lock_guard hold(mutex);
  // A busy machine may miss a deadline.
  EXPECT_EQ(trouble.find("broke"), std::string::npos) << trouble;
}

TEST_F(cost, a_listing_that_is_too_large_for_a_connection_is_refused) {
  server s;
  const auto o = open(url(s));
  member m(ask(o));
  ASSERT_EQ(m.enqueue(std::string(1000, 'n')).what, status::ok);
  const auto list = [&](const char* bytes_max) {
    const auto nonce = s.command({"HGET", "holdfast:store", "nonce"}).text;
    const std::string sha1(engines::redis::scripts::list.sha1);
    return s.command({"EVALSHA", sha1, "0", nonce, "500", "2000", "200000", bytes_max, ""});
  };
  EXPECT_EQ(list("1000").error_word(), "HFLARGE");
  EXPECT_EQ(list("10000").elements.size(), 4U);
}

TEST_F(cost, a_session_with_too_many_locks_to_be_listed_is_refused) {
  server s;
  const auto o = open(url(s));
  member m(ask(o));
  for (const auto* name : {"a", "b", "c"}) ASSERT_EQ(m.enqueue(name).what, status::ok);
  const auto nonce = s.command({"HGET", "holdfast:store", "nonce"}).text;
  const std::string sha1(engines::redis::scripts::list.sha1);
  const auto list = [&](const char* most) {
    return s.command({"EVALSHA", sha1, "0", nonce, "500", "2000", most, "10000", ""});
  };
  EXPECT_EQ(list("2").error_word(), "HFLARGE");
  EXPECT_EQ(list("3").elements.size(), 4U);
}

}  // namespace
}  // namespace holdfast::redis_engine_tests
