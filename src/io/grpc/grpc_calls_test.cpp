#include "io/grpc/grpc_calls.hpp"

#include "io/grpc/grpc_peer_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

/// A session without a connection: the server's side is written by hand.

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;
using namespace frames;
using kind = grpc_outcome::kind;

class grpc_calls_test : public testing::Test {
 protected:
  using lines = std::vector<std::string>;
  static constexpr std::size_t message_max = 100;

  grpc_calls_test() { calls->receive(settings()); }

  std::unique_ptr<grpc_call> made(std::uint64_t id, time_point deadline = time_point::max()) {
    auto c = std::make_unique<grpc_call>(message_max);
    c->id = id;
    c->deadline = deadline;
    c->done = [this, id](const grpc_outcome& o) {
      const std::string how = o.what == kind::answered  ? "answered " + std::to_string(o.status)
                              : o.what == kind::unknown ? "unknown"
                                                        : "not sent";
      told.push_back(std::to_string(id) + " " + how + " " + std::string(o.message));
      if (then) then();
    };
    return c;
  }
  static bool begin(grpc_calls& on, std::unique_ptr<grpc_call> c) {
    wire::put_grpc_message(c->out, "ask");
    return on.begin(c, {.path = "/a/b", .authority = "here"});
  }
  bool call(std::uint64_t id, time_point deadline = time_point::max()) {
    return begin(*calls, made(id, deadline));
  }
  bool stream(std::uint64_t id) {
    auto c = made(id);
    c->half_closes = false;
    c->took = [this, id](std::string_view m) {
      told.push_back(std::to_string(id) + " says " + std::string(m));
    };
    return begin(*calls, std::move(c));
  }
  std::string take_all_bytes() {
    std::string all;
    while (const auto some = calls->take()) all += *some;
    return all;
  }
  lines tell() {
    calls->tell("server: ");
    return std::exchange(told, {});
  }

  std::unique_ptr<grpc_calls> calls{grpc_calls::make(1, 1s)};
  lines told;
  std::function<void()> then;
};

TEST_F(grpc_calls_test, an_answer_is_told_once_and_not_while_it_is_received) {
  ASSERT_TRUE(call(7));
  EXPECT_NE(take_all_bytes().find("ask"), std::string::npos);
  calls->receive(head() + message("answer") + trailers("0") + reset(0));
  EXPECT_TRUE(told.empty());
  EXPECT_TRUE(calls->has_news());
  EXPECT_TRUE(calls->tell("server: "));
  EXPECT_EQ(std::exchange(told, {}), (lines{"7 answered 0 answer"}));
  EXPECT_FALSE(calls->has_news());
  EXPECT_FALSE(calls->tell("server: "));
  EXPECT_TRUE(told.empty());
  EXPECT_EQ(calls->size(), 0U);
}

TEST_F(grpc_calls_test, messages_of_a_stream_that_ended_in_the_same_bytes_come_first) {
  ASSERT_TRUE(stream(1));
  ASSERT_TRUE(call(2));
  take_all_bytes();
  calls->receive(head(3) + message("late", 3) + trailers("0", 3) + head(1) + message("a") +
                 message("b") + trailers("5") + reset(0));
  EXPECT_EQ(tell(), (lines{"1 says a", "1 says b", "2 answered 0 late", "1 answered 5 "}));
}

TEST_F(grpc_calls_test, what_a_call_inside_tell_brings_waits_for_the_next_time) {
  ASSERT_TRUE(call(1));
  ASSERT_TRUE(call(2));
  take_all_bytes();
  then = [&] {
    then = nullptr;
    calls->receive(reset(7, 3));
  };
  calls->receive(reset(7, 1));
  EXPECT_EQ(tell(), (lines{"1 not sent "}));
  EXPECT_EQ(tell(), (lines{"2 not sent "}));
}

TEST_F(grpc_calls_test, one_that_was_cancelled_is_told_of_nothing) {
  ASSERT_TRUE(stream(1));
  ASSERT_TRUE(stream(2));
  take_all_bytes();
  calls->receive(head(1) + message("a"));
  calls->cancel(1);
  calls->cancel(1);
  calls->send(1, "more");
  EXPECT_NE(take_all_bytes().find(reset(8, 1)), std::string::npos) << "the server hears of it";
  calls->receive(message("b") + trailers("0") + reset(0, 1));
  EXPECT_EQ(tell(), lines{});
  EXPECT_EQ(calls->size(), 1U);
}

TEST_F(grpc_calls_test, a_stream_sends_on_after_it_had_nothing_to_send) {
  ASSERT_TRUE(stream(1));
  take_all_bytes();
  EXPECT_EQ(take_all_bytes(), "");
  calls->send(1, "more");
  EXPECT_NE(take_all_bytes().find("more"), std::string::npos);
}

TEST_F(grpc_calls_test, calls_are_late_by_their_deadlines_and_those_that_ended_are_not) {
  const auto now = clock::now();
  ASSERT_TRUE(call(1, now + 30s));
  ASSERT_TRUE(call(2, now + 10s));
  ASSERT_TRUE(call(3, now + 20s));
  ASSERT_TRUE(call(4));
  take_all_bytes();
  EXPECT_EQ(calls->due(), now + 10s);
  EXPECT_TRUE(calls->take_late(now + 9s, 0).empty());
  calls->cancel(2);
  EXPECT_EQ(calls->due(), now + 20s);
  const auto late = calls->take_late(now + 30s, 1000);
  ASSERT_EQ(late.size(), 2U);
  EXPECT_EQ(late[0]->id, 3U);
  EXPECT_EQ(late[1]->id, 1U);
  EXPECT_LT(calls->due(), clock::now() + 2s) << "from now on the server is silent";
  EXPECT_EQ(calls->size(), 1U);
}

TEST_F(grpc_calls_test, a_call_has_a_place_from_when_on_its_head_is_taken) {
  calls->receive(no_streams());
  ASSERT_TRUE(call(1, clock::now()));
  take_all_bytes();
  const auto late = calls->take_late(clock::now() + 1s, 0);
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0]->place, grpc_call::nowhere);

  const auto fresh = grpc_calls::make(1, 1s);
  fresh->receive(settings());
  std::size_t before = 0;
  while (const auto some = fresh->take()) before += some->size();
  ASSERT_TRUE(begin(*fresh, made(2)));
  while (fresh->take()) {
  }
  EXPECT_EQ(fresh->take_all().at(0)->place, before);
}

TEST_F(grpc_calls_test, a_session_without_more_numbers_leaves_what_is_begun_to_end) {
  calls = grpc_calls::make(0x7fffffff, 1s);
  calls->receive(settings());
  ASSERT_TRUE(call(1));
  EXPECT_FALSE(calls->is_leaving());
  EXPECT_FALSE(call(2));
  EXPECT_TRUE(calls->is_leaving());
  EXPECT_STREQ(calls->why_leaves(), grpc_calls::used_up);
  EXPECT_FALSE(calls->has_gone());
  EXPECT_EQ(calls->take_all().size(), 1U);
  EXPECT_TRUE(calls->has_gone());
}

TEST_F(grpc_calls_test, a_server_that_goes_away_finishes_calls_and_not_streams) {
  ASSERT_TRUE(stream(1));
  ASSERT_TRUE(call(2));
  take_all_bytes();
  calls->receive(go_away_gently());
  EXPECT_NE(std::string(calls->why_leaves()).find("GOAWAY"), std::string::npos);
  calls->end_streams("it goes away");
  EXPECT_EQ(std::exchange(told, {}), (lines{"1 unknown "}));
  EXPECT_FALSE(calls->has_gone());
  calls->receive(head(3) + message("answer", 3) + trailers("0", 3) + reset(0, 3));
  EXPECT_EQ(tell(), (lines{"2 answered 0 answer"}));
  EXPECT_TRUE(calls->has_gone());
}

TEST_F(grpc_calls_test, a_stream_may_be_cancelled_by_who_is_told_that_another_one_has_ended) {
  ASSERT_TRUE(stream(1));
  ASSERT_TRUE(stream(2));
  then = [&] {
    calls->cancel(1);
    calls->cancel(2);
  };
  calls->end_streams("it goes away");
  EXPECT_EQ(told.size(), 1U);
}

}  // namespace
}  // namespace holdfast::io
