#include "io/net/peer_fixture.hpp"
#include "io/net/slow_resolver_fixture.hpp"
#include "io/redis/redis_client_fixture.hpp"
#include "io/thread/latch.hpp"

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

/// A server that is not there, is silent, or is lost, and when it is tried again.

namespace holdfast::io {
namespace {

using outcome = redis_answer::outcome;

TEST(redis_peer, that_accepts_and_says_nothing_is_given_up) {
  peer server([](const peer::client& c, int) {
    while (!c.read().empty()) {
    }
  });
  redis_client client({.address = server.address(), .connect_limit = 100ms});
  EXPECT_TRUE(contains(client.events->wait_down(), "not ready 100 ms"));
  EXPECT_FALSE(client.send(1, bytes_of("PING")));
}

TEST(redis_peer, whose_name_is_found_out_late_is_connected_to_then) {
  slow_resolver names;
  peer server([](const peer::client& c, int) {
    c.greet();
    c.read();
  });
  redis_client client({.address = {.host = "db.slow", .port = server.address().port, .path = {}},
                       .connect_limit = 200ms});
  const std::string slow =
      "the resolver has not answered for 100 ms where the name 'db.slow' leads";
  EXPECT_TRUE(contains(client.events->wait_down(), slow)) << client.events->wait_down();
  EXPECT_TRUE(contains(client.connection->trouble()->message(), "check DNS"));
  client.events->wait_down(3);
  EXPECT_EQ(names.questions(), 1);
  names.answer();
  client.events->wait_up();
}

TEST(redis_peer, a_name_without_an_address_is_told) {
  redis_client client(node_address{.host = "no-such-host.invalid", .port = 6379, .path = {}});
  const auto why = client.events->wait_down();
  EXPECT_TRUE(contains(why, "no-such-host.invalid")) << why;
  EXPECT_FALSE(contains(why, "is it Redis")) << why;
}

TEST(redis_peer, connecting_again_waits_longer_each_time) {
  std::atomic<int> connections{0};
  peer server([&](const peer::client&, int) { ++connections; });
  redis_client client({.address = server.address(), .pause_first = 20ms, .pause_most = 100ms});
  client.events->wait_down(8);
  std::this_thread::sleep_for(500ms);
  const int count = connections;
  EXPECT_GE(count, 8);
  EXPECT_LE(count, 8 + 12) << "at most one in 50 ms, and the first ones";
}

TEST(redis_peer, connecting_again_waits_longer_too_where_each_connection_is_soon_lost) {
  peer server([](const peer::client& c, int) { c.greet(); });
  const auto began = clock::now();
  redis_client client(
      {.address = server.address(), .pause_first = 20ms, .pause_after_up_most = 100ms});
  client.events->wait_down(9);
  EXPECT_GE(clock::now() - began, 10ms + 20ms + 40ms + 5 * 50ms);
  EXPECT_GE(client.connection->count().connects, 9U);
}

TEST(redis_peer, connecting_again_is_quick_after_each_connection_that_lasted) {
  peer server([](const peer::client& c, int) {
    if (c.greet()) std::this_thread::sleep_for(10ms);
  });
  redis_client client(
      {.address = server.address(), .pause_most = 1h, .pause_after_up_most = 1h, .lasting = 1ms});
  client.events->wait_up(15);
}

TEST(redis_peer, is_not_connected_to_again_after_its_connection_was_closed) {
  std::atomic<int> connections{0};
  peer server([&](const peer::client&, int) { ++connections; });
  redis_client client({.address = server.address(), .pause_first = 100ms});
  client.events->wait_down();
  client.connection->close(0ms);
  // One that came up before it was closed may not have been counted yet.
  std::this_thread::sleep_for(200ms);
  const int before = connections;
  std::this_thread::sleep_for(500ms);
  EXPECT_EQ(connections, before);
}

TEST(redis_peer, may_be_silent_while_it_owes_nothing) {
  peer server([](const peer::client& c, int) {
    if (!c.greet()) return;
    c.read();
    c.write("+PONG\r\n");
    c.read();
  });
  redis_client client({.address = server.address(), .silence_max = 100ms});
  client.events->wait_up();
  ASSERT_TRUE(client.send(1, bytes_of("PING"), 1s));
  EXPECT_EQ(client.answers->wait(1).what, outcome::reply);
  std::this_thread::sleep_for(1500ms);
  EXPECT_TRUE(client.connection->is_up());
  EXPECT_EQ(client.connection->count().connects, 1U);
}

// The silence of one connection is not the next one's.
TEST(redis_peer, that_was_lost_while_it_was_silent_has_its_time_to_greet) {
  std::atomic<int> connections{0};
  latch may_leave;
  peer server([&](const peer::client& c, int number) {
    ++connections;
    if (number > 0) std::this_thread::sleep_for(600ms);
    if (!c.greet()) return;
    c.read();
    if (number == 0) may_leave.wait();
  });
  redis_client client({.address = server.address(),
                       .connect_limit = 20s,
                       .silence_max = 300ms,
                       .pause_first = 1ms,
                       .pause_after_up_most = 1ms});
  client.events->wait_up();
  ASSERT_TRUE(client.send(1, bytes_of("PING"), 1ms));
  EXPECT_EQ(client.answers->wait(1).what, outcome::unknown);
  may_leave.open();
  client.events->wait_up(2);
  EXPECT_EQ(connections, 2);
}

TEST(redis_peer, is_left_when_its_connection_is_closed_and_not_later) {
  std::promise<bool> is_left;
  peer server([&](const peer::client& c, int number) {
    if (number == 0) is_left.set_value(c.greet() && c.is_left());
  });
  redis_client client(server.address());
  client.events->wait_up();
  client.connection->close(0ms);
  EXPECT_TRUE(is_left.get_future().get());
}

TEST(redis_peer, that_leaves_while_it_is_waited_for_is_waited_for_no_more) {
  peer server([](const peer::client& c, int) {
    if (c.greet()) c.read();
  });
  redis_client client(server.address());
  client.events->wait_up();
  const auto began = clock::now();
  client.in_one_turn([&] {
    ASSERT_TRUE(client.send(1, bytes_of("PING"), 60s));
    client.connection->close(60s);  // Waits for nothing, here.
  });
  EXPECT_EQ(client.answers->wait(1).what, outcome::unknown);
  client.connection->close(20s);
  EXPECT_LT(clock::now() - began, 20s);
}

/// Sends one command more when it is told an answer.
class asks_again final : public redis_receiver {
 public:
  explicit asks_again(redis_client& with) : with_(with) {}
  void answered(std::uint64_t tag, const redis_answer&) override {
    EXPECT_TRUE(with_.send(tag + 1, bytes_of("PING")));
  }

 private:
  redis_client& with_;
};

TEST(redis_peer, that_is_back_is_sent_nothing_of_what_waited_when_it_was_lost) {
  std::promise<std::string> came;
  peer server([&](const peer::client& c, int number) {
    if (number > 1 || !c.greet()) return;
    auto got = c.read();
    if (number == 0) {
      c.write("+PONG\r\n$-7\r\n");
    } else {
      came.set_value(std::move(got));
    }
    c.read();
  });
  redis_client client(server.address());
  client.events->wait_up();
  const auto ping = bytes_of("PING");
  ASSERT_TRUE(client.connection->send(
      {.bytes = ping, .receiver = std::make_shared<asks_again>(client), .tag = 1}));
  EXPECT_EQ(client.answers->wait(2).what, outcome::not_sent);
  client.events->wait_up(2);
  client.in_one_turn([&] { ASSERT_TRUE(client.send(3, bytes_of("ECHO", "x"))); });
  EXPECT_EQ(came.get_future().get(), bytes_of("ECHO", "x"));
}

}  // namespace
}  // namespace holdfast::io
