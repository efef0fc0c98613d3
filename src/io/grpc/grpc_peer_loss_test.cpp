#include "io/grpc/grpc_client_fixture.hpp"
#include "io/grpc/grpc_peer_fixture.hpp"
#include "io/net/peer_fixture.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>

/// When a server is given up or tried again, and how much is kept for it.

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;
using namespace frames;
using namespace grpc_tests;
using kind = grpc_outcome::kind;

/// Greets, and takes all without a word.
void take_all(const peer::client& c, int) {
  c.write(settings());
  while (!c.read().empty()) {
  }
}

TEST(grpc_peer, that_accepts_and_says_nothing_is_given_up) {
  peer server([](const peer::client& c, int) {
    while (!c.read().empty()) {
    }
  });
  client c({.address = server.address(), .connect_limit = 100ms});
  const auto why = c.happened->wait_down();
  EXPECT_NE(why.find("not ready 100 ms after connecting began"), std::string::npos) << why;
  EXPECT_EQ(c.call().what, kind::not_sent);
}

TEST(grpc_peer, that_has_greeted_in_time_is_not_given_up_later) {
  peer server(take_all);
  client c({.address = server.address(), .connect_limit = 500ms});
  ASSERT_TRUE(c.happened->wait_up());
  const int before = c.happened->ups();
  std::this_thread::sleep_for(700ms);
  EXPECT_EQ(c.happened->ups(), before);
}

TEST(grpc_peer, that_is_not_there_is_told_as_that) {
  node_address nobody;
  {
    const peer gone(take_all);
    nobody = gone.address();
  }
  client c({.address = nobody});
  const auto why = c.happened->wait_down();
  EXPECT_NE(why.find("Connection refused"), std::string::npos) << why;
}

TEST(grpc_peer, that_does_not_keep_up_is_asked_no_more) {
  peer server(take_all);
  client c({.address = server.address(), .queued_bytes_max = 1000, .calls_max = 2});
  ASSERT_TRUE(c.happened->wait_up());
  const auto large = client::wait(c.start(std::string(2000, 'x'), 10s));
  EXPECT_EQ(large.what, kind::not_sent);
  EXPECT_NE(large.text.find("does not keep up"), std::string::npos) << large.text;
  const auto first = c.start("ask", 10s);
  const auto second = c.start("ask", 10s);
  const auto third = c.call();
  EXPECT_EQ(third.what, kind::not_sent);
  EXPECT_NE(third.text.find("2 calls are unanswered"), std::string::npos) << third.text;
}

TEST(grpc_peer, that_answers_is_told_as_up_once_and_tried_again_soon) {
  peer server([](const peer::client& c, int) {
    reader in(c);
    c.write(settings());
    const auto stream = in.request();
    c.write(head(stream) + message("answer", stream) + trailers("0", stream));
    in.answers_ping();
  });
  client c({.address = server.address(), .pause_most = 1h});
  for (int connection = 1; connection < 15; ++connection) {
    ASSERT_TRUE(c.happened->wait_up(connection));
    EXPECT_EQ(c.happened->ups(), connection);
    EXPECT_EQ(c.call().message, "answer");
  }
}

TEST(grpc_peer, is_left_when_its_connection_is_closed_and_what_it_owes_is_told) {
  std::promise<void> was_asked;
  std::promise<bool> is_left;
  peer server([&](const peer::client& c, int number) {
    if (number > 0) return;
    c.write(settings());
    std::string seen;
    while (seen.find("ask") == std::string::npos) {
      const auto more = c.read();
      if (more.empty()) break;
      seen += more;
    }
    was_asked.set_value();
    is_left.set_value(c.is_left());
  });
  client c(server.address(), 60s);
  ASSERT_TRUE(c.happened->wait_up());
  auto owed = c.start("ask", 60s);
  was_asked.get_future().wait_for(20s);
  c.close();
  const auto told = client::wait(std::move(owed));
  EXPECT_EQ(told.what, kind::unknown) << told.text;
  EXPECT_NE(told.text.find("closed by its owner"), std::string::npos) << told.text;
  EXPECT_TRUE(is_left.get_future().get());
}

TEST(grpc_peer, is_not_connected_to_again_after_its_connection_was_closed) {
  std::atomic<int> connections{0};
  peer server([&](const peer::client&, int) { ++connections; });
  client c({.address = server.address(), .pause_first = 100ms});
  c.happened->wait_down();
  c.close();
  // One that came up before it was closed may not have been counted yet.
  std::this_thread::sleep_for(200ms);
  const int before = connections;
  std::this_thread::sleep_for(500ms);
  EXPECT_EQ(connections, before);
}

}  // namespace
}  // namespace holdfast::io
