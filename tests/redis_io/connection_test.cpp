#include "io/redis/redis_client_fixture.hpp"
#include "tests/redis_io/server_address.hpp"

#include <numeric>
#include <thread>

namespace holdfast::io {
namespace {

using redis_tests::address_of;
using outcome = redis_answer::outcome;

TEST(redis_connection, answers_commands_and_knows_its_server) {
  redis_tests::server server;
  redis_client client({.address = address_of(server), .login = {.client_name = "a-name"}});
  client.events->wait_up();
  EXPECT_TRUE(client.ask(1, bytes_of("SET", "k", "v", "NX", "PX", 30'000)).reply.is_ok());
  EXPECT_TRUE(client.ask(2, bytes_of("SET", "k", "w", "NX", "PX", 30'000)).reply.is_null());
  EXPECT_EQ(client.ask(3, bytes_of("CLIENT", "GETNAME")).reply.text, "a-name");
  const auto facts = client.events->facts();
  EXPECT_EQ(facts.protocol, 3);
  EXPECT_EQ(facts.run_id.size(), 40U);
  EXPECT_EQ(facts.role, "master");
  EXPECT_EQ(facts.mode, "standalone");
  EXPECT_EQ(facts.info_refused, "");
}

TEST(redis_connection, works_over_a_unix_socket) {
  redis_tests::server server({.unix_socket = true});
  redis_client client(node_address{.path = server.socket_path()});
  client.events->wait_up();
  EXPECT_EQ(client.ask(1, bytes_of("ECHO", "x")).reply.text, "x");
}

TEST(redis_connection, finds_a_server_by_name) {
  redis_tests::server server;
  auto to = address_of(server);
  to.host = "localhost";
  redis_client client(to);
  client.events->wait_up();
}

TEST(redis_connection, sends_the_commands_of_a_turn_in_one_write_and_answers_in_order) {
  redis_tests::server server;
  redis_client client(address_of(server));
  client.events->wait_up();
  const auto before = client.connection->count();
  constexpr std::uint64_t count = 1000;
  client.in_one_turn([&] {
    for (std::uint64_t i = 0; i < count; ++i) {
      ASSERT_TRUE(client.send(i, bytes_of("INCR", "n")));
    }
  });
  client.answers->wait_for_count(count);
  const auto after = client.connection->count();
  EXPECT_EQ(after.commands - before.commands, count);
  EXPECT_EQ(after.writes - before.writes, 1U);
  EXPECT_LE(after.reads - before.reads, 20U);
  EXPECT_EQ(after.unanswered, 0U);
  for (std::uint64_t i = 0; i < count; ++i) {
    EXPECT_EQ(client.answers->wait(i).reply.integer, static_cast<std::int64_t>(i) + 1);
  }
}

TEST(redis_connection, many_threads_share_it_and_each_keeps_its_order) {
  redis_tests::server server;
  redis_client client(address_of(server));
  client.events->wait_up();
  constexpr std::uint64_t threads = 8;
  constexpr std::uint64_t each = 500;
  std::vector<std::thread> all;
  for (std::uint64_t t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      const auto key = "n" + std::to_string(t);
      for (std::uint64_t i = 0; i < each; ++i) {
        ASSERT_TRUE(client.send(t * each + i, bytes_of("INCR", key)));
      }
    });
  }
  for (auto& t : all) t.join();
  client.answers->wait_for_count(threads * each);
  for (std::uint64_t t = 0; t < threads; ++t) {
    for (std::uint64_t i = 0; i < each; ++i) {
      ASSERT_EQ(client.answers->wait(t * each + i).reply.integer, static_cast<std::int64_t>(i) + 1);
    }
  }
}

TEST(redis_connection, the_loop_and_other_threads_get_each_its_own_answers) {
  redis_tests::server server;
  redis_client client(address_of(server));
  client.events->wait_up();
  constexpr std::uint64_t threads = 3;
  constexpr std::uint64_t each = 3'000;
  const auto send_all = [&](std::uint64_t t) {
    for (std::uint64_t i = t * each; i < (t + 1) * each; ++i) {
      ASSERT_TRUE(client.send(i, bytes_of("ECHO", std::to_string(i))));
    }
  };
  std::vector<std::thread> others;
  for (std::uint64_t t = 1; t < threads; ++t) others.emplace_back(send_all, t);
  client.in_one_turn([&] { send_all(0); });
  for (auto& o : others) o.join();
  client.answers->wait_for_count(threads * each);
  for (std::uint64_t i = 0; i < threads * each; ++i) {
    ASSERT_EQ(client.answers->wait(i).reply.text, std::to_string(i));
  }
  EXPECT_EQ(client.connection->count().unanswered, 0U);
}

TEST(redis_connection, the_loop_and_other_threads_that_take_turns_keep_their_order) {
  redis_tests::server server;
  redis_client client(address_of(server));
  client.events->wait_up();
  constexpr std::uint64_t count = 200;
  const auto send = [&](std::uint64_t i) {
    ASSERT_TRUE(client.send(i, bytes_of("RPUSH", "l", std::to_string(i))));
  };
  client.in_one_turn([&] {
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i % 3 == 0) {
        send(i);
      } else {
        std::thread(send, i).join();
      }
    }
  });
  client.answers->wait_for_count(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSERT_EQ(client.answers->wait(i).reply.integer, static_cast<std::int64_t>(i) + 1);
  }
}

TEST(redis_connection, deadlines_of_one_turn_are_kept_whoever_sent_the_commands) {
  redis_tests::server server;
  redis_client client(address_of(server));
  client.events->wait_up();
  server.stop();
  for (const bool others_are_first : {true, false}) {
    const std::uint64_t tag = others_are_first ? 1 : 3;
    client.in_one_turn([&] {
      ASSERT_TRUE(client.send(tag, bytes_of("PING"), others_are_first ? 60s : 30ms));
      std::thread([&] {
        ASSERT_TRUE(client.send(tag + 1, bytes_of("PING"), others_are_first ? 30ms : 60s));
      }).join();
    });
    EXPECT_EQ(client.answers->wait(others_are_first ? 2 : 3).what, outcome::unknown);
    EXPECT_FALSE(client.answers->has(others_are_first ? 1 : 4));
  }
  server.resume();
}

TEST(redis_connection, large_values_pass_in_both_directions) {
  redis_tests::server server;
  redis_client client(address_of(server));
  client.events->wait_up();
  const std::string value(400'000, 'x');
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(client.send(i, bytes_of("SET", "k", value)));
  client.answers->wait_for_count(4);
  EXPECT_EQ(client.ask(9, bytes_of("GET", "k")).reply.text, value);
}

TEST(redis_connection, a_stopped_server_costs_the_deadline_and_its_answers_come_late) {
  redis_tests::server server;
  redis_client client(address_of(server));
  client.events->wait_up();
  server.stop();
  const auto began = clock::now();
  ASSERT_TRUE(client.send(1, bytes_of("SET", "k", "v"), 30ms));
  ASSERT_TRUE(client.send(2, bytes_of("GET", "k"), 1s));
  const auto first = client.answers->wait(1);
  EXPECT_GE(clock::now() - began, 30ms);
  EXPECT_EQ(first.what, outcome::unknown);
  EXPECT_TRUE(contains(first.why, address_of(server).text())) << first.why;
  EXPECT_FALSE(client.answers->has(2));
  EXPECT_EQ(client.answers->wait(2).what, outcome::unknown);
  EXPECT_GE(clock::now() - began, 1s);
  server.resume();
  EXPECT_EQ(client.answers->wait_late(1), "OK");
  EXPECT_EQ(client.answers->wait_late(2), "v");
  EXPECT_EQ(client.ask(3, bytes_of("GET", "k")).reply.text, "v");
}

TEST(redis_connection, a_release_behind_a_set_that_timed_out_frees_the_name) {
  redis_tests::server server;
  redis_client client(address_of(server));
  client.events->wait_up();
  server.stop();
  ASSERT_TRUE(client.send(1, bytes_of("SET", "k", "v", "NX", "PX", 30'000), 5ms));
  EXPECT_EQ(client.answers->wait(1).what, outcome::unknown);
  ASSERT_TRUE(client.send(2, bytes_of("DEL", "k")));
  server.resume();
  EXPECT_EQ(client.answers->wait(2).reply.integer, 1);
  EXPECT_TRUE(client.ask(3, bytes_of("GET", "k")).reply.is_null());
}

TEST(redis_connection, a_stopped_server_does_not_grow_the_queues_without_bound) {
  redis_tests::server server;
  redis_client client(
      {.address = address_of(server), .queued_bytes_max = 1024 * 1024, .unanswered_max = 10'000});
  client.events->wait_up();
  server.stop();
  const auto small = bytes_of("SET", "k", "v");
  std::uint64_t tag = 0;
  while (client.send(tag, small)) ++tag;
  EXPECT_EQ(tag, 5'000U);
  EXPECT_TRUE(contains(client.send(tag, small).error().message(), "does not keep up"));
  EXPECT_TRUE(client.send(tag, bytes_of("DEL", "k"), 20s, false, true)) << "room for releases";
  const auto most = client.connection->count();
  EXPECT_LE(most.unanswered, 10'000U);

  const auto large = bytes_of("SET", "k", std::string(64 * 1024, 'x'));
  for (int i = 0; i < 300; ++i) {
    static_cast<void>(
        client.send(100'000 + static_cast<std::uint64_t>(i), large, 20s, false, true));
  }
  EXPECT_LE(client.connection->count().queued_bytes, 1024U * 1024U);
  EXPECT_FALSE(client.send(1'000'000, large, 20s, false, true));
  server.resume();
  EXPECT_TRUE(client.answers->wait(tag - 1).reply.is_ok());
}

TEST(redis_connection, a_server_silent_for_too_long_is_lost) {
  redis_tests::server server;
  redis_client client({.address = address_of(server), .connect_limit = 2s, .silence_max = 300ms});
  client.events->wait_up();
  server.stop();
  ASSERT_TRUE(client.send(1, bytes_of("PING"), 10ms));
  EXPECT_EQ(client.answers->wait(1).what, outcome::unknown);
  EXPECT_EQ(client.answers->wait_late(1), "ended");
  EXPECT_TRUE(contains(client.events->wait_down(), "answered nothing for 300 ms"));
  EXPECT_TRUE(contains(client.events->wait_down(2), "not ready 2000 ms after"));
  server.resume();
  client.events->wait_up(2);
}

TEST(redis_connection, a_server_that_answers_late_is_not_silent) {
  redis_tests::server server;
  redis_client client({.address = address_of(server), .silence_max = 2s});
  client.events->wait_up();
  server.stop();
  ASSERT_TRUE(client.send(1, bytes_of("PING"), 10ms));
  EXPECT_EQ(client.answers->wait(1).what, outcome::unknown);
  server.resume();
  EXPECT_EQ(client.answers->wait_late(1), "PONG");
  std::this_thread::sleep_for(2'200ms);
  EXPECT_EQ(client.ask(2, bytes_of("PING")).reply.text, "PONG");
  EXPECT_EQ(client.connection->count().connects, 1U);
}

TEST(redis_connection, a_killed_server_leaves_unknown_outcomes_then_none_until_it_is_back) {
  redis_tests::server server;
  redis_client client(address_of(server));
  client.events->wait_up();
  server.stop();
  ASSERT_TRUE(client.send(1, bytes_of("SET", "k", "v")));
  server.kill();
  const auto lost = client.answers->wait(1);
  EXPECT_EQ(lost.what, outcome::unknown);
  client.events->wait_down();
  const auto refused = client.send(2, bytes_of("PING"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), errc::unavailable);
  // One that is tried while the process ends may be taken still, and reset.
  const auto why = client.events->wait_down(2);
  const bool was_taken = !contains(why, "Connection refused");
  EXPECT_TRUE(!was_taken || contains(client.events->wait_down(3), "Connection refused")) << why;
  EXPECT_TRUE(contains(client.connection->trouble()->message(), address_of(server).text()));
  server.start();
  client.events->wait_up(2);
  EXPECT_EQ(client.ask(3, bytes_of("PING")).reply.text, "PONG");
  EXPECT_EQ(client.connection->count().connects, 2U);
  EXPECT_FALSE(client.connection->trouble());
}

TEST(redis_connection, tells_once_of_every_command_while_the_server_dies_and_comes_back) {
  redis_tests::server server;
  redis_client client(address_of(server));
  client.events->wait_up();
  std::atomic<bool> stop{false};
  std::vector<std::vector<std::uint64_t>> queued(4);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < queued.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; !stop; ++i) {
        const auto tag = t * 100'000'000 + i;
        if (client.send(tag, bytes_of("SET", "k", tag))) queued[t].push_back(tag);
        if (i % 64 == 0) std::this_thread::sleep_for(1ms);
      }
    });
  }
  for (int round = 2; round < 5; ++round) {
    std::this_thread::sleep_for(20ms);
    server.kill();
    server.start();
    client.events->wait_up(round);
  }
  stop = true;
  for (auto& t : threads) t.join();
  for (const auto& all : queued) {
    for (const auto tag : all) client.answers->wait(tag);
  }
  EXPECT_EQ(client.connection->count().unanswered, 0U);
}

TEST(redis_connection, a_wrong_password_and_a_missing_one_are_told_without_it) {
  redis_tests::server server({.settings = {"--requirepass", "s3cret"}});
  redis_client wrong({.address = address_of(server), .login = {.password = "gu3ss"}});
  const auto why = wrong.events->wait_down();
  EXPECT_TRUE(contains(why, "WRONGPASS")) << why;
  EXPECT_TRUE(contains(why, address_of(server).text())) << why;
  EXPECT_FALSE(contains(why, "gu3ss")) << why;
  redis_client none({.address = address_of(server)});
  EXPECT_TRUE(contains(none.events->wait_down(), "wants a password"));
  redis_client right({.address = address_of(server), .login = {.password = "s3cret"}});
  right.events->wait_up();
}

TEST(redis_connection, an_acl_user_gets_what_it_may_and_noperm_for_the_rest) {
  redis_tests::server server(
      {.settings = {"--user", "ann", "on", ">pw", "~lock:*", "+set", "+ping"}});
  redis_client client({.address = address_of(server), .login = {.user = "ann", .password = "pw"}});
  client.events->wait_up();
  EXPECT_TRUE(contains(client.events->facts().info_refused, "NOPERM"));
  EXPECT_EQ(client.events->facts().mode, "standalone");
  EXPECT_TRUE(client.ask(1, bytes_of("SET", "lock:a", "v")).reply.is_ok());
  const auto denied = client.ask(2, bytes_of("SET", "other", "v")).reply;
  EXPECT_TRUE(denied.is(wire::reply_kind::error));
  EXPECT_TRUE(contains(denied.text, "NOPERM")) << denied.text;
}

TEST(redis_connection, a_database_is_selected_or_named_when_it_is_not_there) {
  redis_tests::server server;
  redis_client three({.address = address_of(server), .login = {.database = 3}});
  three.events->wait_up();
  ASSERT_TRUE(three.ask(1, bytes_of("SET", "k", "v")).reply.is_ok());
  redis_client zero(address_of(server));
  zero.events->wait_up();
  EXPECT_TRUE(zero.ask(1, bytes_of("GET", "k")).reply.is_null());
  redis_client none({.address = address_of(server), .login = {.database = 99}});
  EXPECT_TRUE(contains(none.events->wait_down(), "database 99"));
}

TEST(redis_connection, a_refused_server_is_never_used_and_is_asked_again) {
  redis_tests::server server;
  redis_client client(address_of(server));
  client.events->wait_up();
  client.events->refuse("it is a replica");
  static_cast<void>(client.send(1, bytes_of("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no")));
  EXPECT_TRUE(contains(client.events->wait_down(2), "it is a replica"));
  EXPECT_FALSE(client.send(2, bytes_of("PING")));
  client.events->refuse("");
  client.events->wait_up(2);
}

TEST(redis_connection, pushes_come_between_answers_and_confirm_subscriptions) {
  redis_tests::server server;
  redis_client client(address_of(server));
  client.events->wait_up();
  ASSERT_TRUE(client.send(1, bytes_of("SUBSCRIBE", "freed"), 20s, true));
  ASSERT_TRUE(client.send(2, bytes_of("PUBLISH", "freed", "a")));
  ASSERT_TRUE(client.send(3, bytes_of("PING")));
  EXPECT_EQ(client.answers->wait(1).reply.elements.at(0).text, "subscribe");
  EXPECT_EQ(client.answers->wait(2).reply.integer, 1);
  EXPECT_EQ(client.answers->wait(3).reply.text, "PONG");
  EXPECT_EQ(client.events->wait_pushes(1).at(0).elements.at(2).text, "a");
  ASSERT_TRUE(client.send(4, bytes_of("UNSUBSCRIBE", "freed"), 20s, true));
  EXPECT_EQ(client.answers->wait(4).reply.elements.at(0).text, "unsubscribe");
}

TEST(redis_connection, a_subscription_that_is_refused_answers_its_own_command) {
  redis_tests::server server({.settings = {"--user", "ann", "on", ">pw", "~*", "+@all", "&mine"}});
  redis_client client({.address = address_of(server), .login = {.user = "ann", .password = "pw"}});
  client.events->wait_up();
  ASSERT_TRUE(client.send(1, bytes_of("SUBSCRIBE", "theirs"), 20s, true));
  ASSERT_TRUE(client.send(2, bytes_of("PING")));
  EXPECT_TRUE(contains(client.answers->wait(1).reply.text, "NOPERM"));
  EXPECT_EQ(client.answers->wait(2).reply.text, "PONG");
}

TEST(redis_connection, closing_sends_what_was_queued_and_waits_for_its_answers) {
  redis_tests::server server;
  redis_client client(address_of(server));
  client.events->wait_up();
  constexpr std::uint64_t count = 2000;
  client.in_one_turn([&] {
    for (std::uint64_t i = 0; i < count; ++i) ASSERT_TRUE(client.send(i, bytes_of("INCR", "n")));
  });
  const auto began = clock::now();
  client.connection->close(10s);
  EXPECT_LT(clock::now() - began, 10s) << "no longer than for the answers";
  EXPECT_EQ(client.answers->wait(count - 1).reply.integer, static_cast<std::int64_t>(count));
  EXPECT_FALSE(client.send(9999, bytes_of("PING")));
}

TEST(redis_connection, closing_waits_for_nothing_where_nothing_is_owed) {
  redis_tests::server server;
  redis_client client(address_of(server));
  client.events->wait_up();
  const auto began = clock::now();
  client.connection->close(10s);
  EXPECT_LT(clock::now() - began, 10s);
}

TEST(redis_connection, closing_is_bounded_when_the_server_hangs) {
  redis_tests::server server;
  redis_client client(address_of(server));
  client.events->wait_up();
  server.stop();
  ASSERT_TRUE(client.send(1, bytes_of("DEL", "k"), 60s));
  const auto began = clock::now();
  client.connection->close(50ms);
  EXPECT_GE(clock::now() - began, 45ms);
  EXPECT_EQ(client.answers->wait(1).what, outcome::unknown);
  EXPECT_LT(clock::now() - began, 5s) << "told then, and not when the answer is due";
  server.resume();
}

}  // namespace
}  // namespace holdfast::io
