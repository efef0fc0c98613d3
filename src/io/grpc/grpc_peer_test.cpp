#include "io/grpc/grpc_client_fixture.hpp"
#include "io/grpc/grpc_connection.hpp"
#include "io/grpc/grpc_peer_fixture.hpp"
#include "io/net/peer_fixture.hpp"
#include "io/net/slow_resolver_fixture.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <thread>
#include <vector>

/// What a server may do to a gRPC client.

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;
using namespace frames;
using namespace grpc_tests;
using kind = grpc_outcome::kind;

/// A peer that says `greeting`, and `answer` once it was asked.
struct scripted {
  explicit scripted(std::string answer, std::string greeting = settings())
      : server([answer = std::move(answer), greeting = std::move(greeting)](const peer::client& c,
                                                                            int) {
          c.write(greeting);
          std::string seen;
          while (seen.find("ask") == std::string::npos) {
            const auto more = c.read();
            if (more.empty()) return;
            seen += more;
          }
          c.write(answer);
          while (!c.read().empty()) {
          }
        }) {}
  peer server;
};

told answered(const std::string& answer) {
  scripted p(answer);
  client c(p.server.address());
  EXPECT_TRUE(c.happened->wait_up());
  return c.call();
}

TEST(grpc_peer, whose_name_is_found_out_late_is_connected_to_then) {
  slow_resolver names;
  peer server([](const peer::client& c, int) {
    c.write(settings());
    while (!c.read().empty()) {
    }
  });
  client c({.host = "db.slow", .port = server.address().port, .path = {}}, 300ms, 1, 200ms);
  const auto slow = [](int ms) {
    return "the resolver has not answered for " + std::to_string(ms) +
           " ms where the name 'db.slow' leads; it is slow or hangs (check DNS)";
  };
  EXPECT_NE(c.happened->wait_down().find(slow(100)), std::string::npos) << c.happened->wait_down();
  EXPECT_NE(c.happened->wait_down(5).find(slow(500)), std::string::npos);
  EXPECT_EQ(names.questions(), 1);
  names.answer();
  EXPECT_TRUE(c.happened->wait_up());
}

TEST(grpc_peer, an_answer_is_taken_however_its_frames_are_cut) {
  const auto whole = answered(head() + message("answer") + trailers("0"));
  EXPECT_EQ(whole.what, kind::answered);
  EXPECT_EQ(whole.status, 0U);
  EXPECT_EQ(whole.message, "answer");
  std::string bytes;
  wire::put_grpc_message(bytes, "answer");
  std::string pieces;
  for (const char b : bytes) pieces += frame(0, 0, 1, std::string(1, b));
  EXPECT_EQ(answered(head() + pieces + trailers("0")).message, "answer");
}

TEST(grpc_peer, a_status_is_told_with_its_text_and_the_server) {
  const auto t =
      answered(frame(1, end_headers | end_stream, 1,
                     "\x88" + field("grpc-status", "7") + field("grpc-message", "not%20you%0a")));
  EXPECT_EQ(t.what, kind::answered);
  EXPECT_EQ(t.status, 7U);
  EXPECT_NE(t.text.find("127.0.0.1"), std::string::npos) << t.text;
  EXPECT_NE(t.text.find("not you?"), std::string::npos) << t.text;
}

TEST(grpc_peer, what_is_no_answer_leaves_the_outcome_unknown) {
  std::string compressed = message("answer");
  compressed[9] = '\1';
  const std::string endless(std::string("\0\xff\xff\xff\xff", 5));
  for (const auto& bytes :
       {head() + trailers("0"), head() + message("answer") + trailers("x"),
        head() + frame(0, end_stream, 1, {}), head() + compressed + trailers("0"),
        head() + frame(0, 0, 1, endless), reset(8), reset(2),
        head() + message(std::string(1001, 'x')) + trailers("0"),
        frame(1, end_headers | end_stream, 1, "\x8d")}) {
    const auto t = answered(bytes);
    EXPECT_EQ(t.what, kind::unknown) << t.text;
    EXPECT_FALSE(t.text.empty());
  }
}

TEST(grpc_peer, what_breaks_the_protocol_ends_the_connection) {
  for (const auto& bytes :
       {std::string("\xff\xff\xff\0\0\0\0\0\1", 9), frame(0, 0, 1, "x"), frame(4, 0, 1, {}),
        frame(1, end_headers, 1, "\xff\xff\xff\xff\xff"), std::string("garbage, not a frame")}) {
    scripted p(bytes);
    client c(p.server.address());
    ASSERT_TRUE(c.happened->wait_up());
    EXPECT_EQ(c.call().what, kind::unknown);
    EXPECT_TRUE(c.happened->wait_up(2)) << "it connects again";
  }
}

TEST(grpc_peer, a_call_that_was_refused_was_not_sent) {
  EXPECT_EQ(answered(reset(7)).what, kind::not_sent);
}

TEST(grpc_peer, a_server_that_goes_away_has_not_seen_later_calls) {
  scripted p(go_away());
  client c(p.server.address());
  ASSERT_TRUE(c.happened->wait_up());
  EXPECT_EQ(c.call().what, kind::not_sent);
  EXPECT_TRUE(c.happened->wait_up(2)) << "it connects again";
}

// As etcd does it when it is shut down: it waits for streams that nobody else would end.
TEST(grpc_peer, a_server_that_goes_away_and_waits_is_left) {
  scripted p(go_away_gently());
  client c(p.server.address());
  ASSERT_TRUE(c.happened->wait_up());
  const auto t = c.stream();
  EXPECT_EQ(t.what, kind::unknown);
  EXPECT_NE(t.text.find("GOAWAY"), std::string::npos) << t.text;
  EXPECT_NE(c.happened->wait_down().find("GOAWAY"), std::string::npos);
  EXPECT_TRUE(c.happened->wait_up(2)) << "it connects again";
}

TEST(grpc_peer, a_server_that_goes_away_is_left_when_its_last_call_is_late) {
  scripted p(go_away_gently());
  client c(p.server.address(), 60s);
  ASSERT_TRUE(c.happened->wait_up());
  EXPECT_EQ(c.call(200ms).what, kind::unknown);
  // The peer itself hangs up after ten seconds.
  const auto begun = clock::now();
  EXPECT_TRUE(c.happened->wait_up(2)) << "it connects again";
  EXPECT_LT(clock::now() - begun, 8s);
}

TEST(grpc_peer, another_connection_follows_one_that_has_no_more_numbers_for_calls) {
  constexpr std::int32_t last = 0x7fffffff;
  scripted p("");
  client c(p.server.address(), 60s, last);
  ASSERT_TRUE(c.happened->wait_up());
  auto first = c.start("first", 200ms);
  const auto t = c.call();
  EXPECT_EQ(t.what, kind::not_sent);
  EXPECT_NE(t.text.find("127.0.0.1"), std::string::npos) << t.text;
  EXPECT_EQ(client::wait(std::move(first)).what, kind::unknown) << "it had its time";
  // The peer itself hangs up after ten seconds.
  const auto begun = clock::now();
  EXPECT_TRUE(c.happened->wait_up(2)) << "it connects again";
  EXPECT_LT(clock::now() - begun, 8s);
  EXPECT_EQ(c.call(50ms).what, kind::unknown) << "and is asked again";
}

// The ends of both streams are there already when the last message of the first one is told.
TEST(grpc_peer, a_call_may_be_made_and_refused_while_ends_are_told) {
  scripted p(go_away_gently() + head(1) + head(3) + message("x") + trailers("0", 1) +
             trailers("0", 3) + reset(0, 1) + reset(0, 3));
  client c(p.server.address());
  ASSERT_TRUE(c.happened->wait_up());
  std::vector<std::string> others;
  std::promise<kind> late;
  auto first = c.start_stream("first", [&] {
    c.call_within([&](const grpc_outcome& o) { late.set_value(o.what); });
    // Memory that was freed above is somebody else's now.
    for (std::size_t i = 0; i < 100; ++i) others.emplace_back(16 + i, '\xff');
  });
  auto second = c.start_stream("ask", [] {});
  EXPECT_EQ(client::wait(std::move(first)).what, kind::answered);
  EXPECT_EQ(client::wait(std::move(second)).what, kind::answered);
  auto told_late = late.get_future();
  ASSERT_EQ(told_late.wait_for(20s), std::future_status::ready);
  EXPECT_EQ(told_late.get(), kind::not_sent);
}

TEST(grpc_peer, a_stream_may_be_cancelled_by_who_is_told_that_another_one_was_left) {
  scripted p(go_away_gently());
  client c(p.server.address());
  ASSERT_TRUE(c.happened->wait_up());
  const auto left = c.start_two_that_cancel_each_other();
  EXPECT_TRUE(c.happened->wait_up(2)) << "it connects again";
  EXPECT_EQ(*left, 1);
}

TEST(grpc_peer, that_greets_and_hangs_up_is_tried_less_and_less_often) {
  peer server([](const peer::client& c, int) { c.write(settings()); });
  client c(server.address());
  const auto begun = clock::now();
  EXPECT_TRUE(c.happened->wait_up(9));
  // At least half of 20, 40, ... 2560 ms, which 2 s bound.
  EXPECT_GT(clock::now() - begun, 2s);
}

TEST(grpc_peer, that_says_nothing_is_given_up) {
  scripted p("");
  client c(p.server.address());
  ASSERT_TRUE(c.happened->wait_up());
  EXPECT_EQ(c.call(50ms).what, kind::unknown);
  EXPECT_NE(c.happened->wait_down().find("sent nothing for 300 ms"), std::string::npos);
}

TEST(grpc_peer, a_call_that_is_still_queued_at_its_deadline_may_be_done_later) {
  std::promise<void> was_late;
  std::promise<bool> came;
  peer server([&](const peer::client& c, int connection) {
    if (connection > 0) return;
    c.take_little();
    c.write(open_windows());
    was_late.get_future().wait_for(20s);
    std::string seen;
    while (seen.find("second") == std::string::npos) {
      const auto more = c.read();
      if (more.empty()) break;
      // All of it would be searched again and again.
      seen = seen.substr(seen.size() - std::min<std::size_t>(seen.size(), 8)) + more;
    }
    came.set_value(seen.find("second") != std::string::npos);
    while (!c.read().empty()) {
    }
  });
  client c(server.address(), 60s);
  ASSERT_TRUE(c.happened->wait_up());
  // More than the kernel takes.
  auto first = c.start(std::string(std::size_t{7} * 1024 * 1024, 'x'), 10s);
  EXPECT_EQ(client::wait(c.start("second", 50ms)).what, kind::unknown);
  was_late.set_value();
  EXPECT_TRUE(came.get_future().get());
}

TEST(grpc_peer, a_call_that_was_not_begun_at_its_deadline_was_not_sent) {
  scripted p("", no_streams());
  client c(p.server.address());
  ASSERT_TRUE(c.happened->wait_up());
  EXPECT_EQ(c.call(50ms).what, kind::not_sent);
}

/// A peer that treats its first connection like this, and answers all calls on the next one.
/// `first`: how long the first call may take.
void expect_that_the_next_connection_answers(
    duration first, const std::function<void(const peer::client&, reader&)>& treat) {
  peer server([&](const peer::client& c, int connection) {
    reader in(c);
    if (connection == 0) return treat(c, in);
    c.write(settings());
    for (auto stream = in.request(); stream > 0; stream = in.request()) {
      c.write(head(stream) + message("answer", stream) + trailers("0", stream));
    }
  });
  client c(server.address());
  ASSERT_TRUE(c.happened->wait_up());
  auto last = c.call(first);
  EXPECT_EQ(last.what, kind::not_sent) << last.text;
  // As many as a stream of one byte can number.
  for (int i = 0; i < 60 && last.what != kind::answered; ++i) {
    std::this_thread::sleep_for(20ms);
    last = c.call(100ms);
  }
  EXPECT_EQ(last.message, "answer") << last.text;
  EXPECT_NE(c.happened->wait_down().find("taken no call for 300 ms"), std::string::npos)
      << c.happened->wait_down();
}

TEST(grpc_peer, that_begins_no_call_is_left_though_it_is_not_silent) {
  expect_that_the_next_connection_answers(100ms, [](const peer::client& c, reader& in) {
    c.write(no_streams());
    while (in.answers_ping()) std::this_thread::sleep_for(20ms);
  });
}

TEST(grpc_peer, that_refuses_every_call_is_left) {
  expect_that_the_next_connection_answers(10s, [](const peer::client& c, reader& in) {
    c.write(settings());
    for (auto stream = in.request(); stream > 0; stream = in.request()) c.write(reset(7, stream));
  });
}

// Slowly enough that nghttp2 does not take it for a flood: 1000 in what is read at once.
TEST(grpc_peer, that_asks_and_does_not_read_is_left) {
  const std::string nothing = frame(0x7f, 0, 0, std::string(40, '\0'));
  std::string some;
  for (int i = 0; i < 1000; ++i) some += ping() + nothing;
  std::atomic<bool> left{false};
  peer server([&](const peer::client& c, int connection) {
    c.take_little();
    c.write(settings());
    // Beyond what the kernels keep.
    for (int i = 0; connection == 0 && i < 2000 && !left; ++i) c.write(some);
  });
  client c(server.address(), 60s, 1, 2s, 64 * 1024);
  EXPECT_NE(c.happened->wait_down().find("does not take the answers"), std::string::npos)
      << c.happened->wait_down();
  left = true;
}

TEST(grpc_peer, that_hangs_up_leaves_the_outcome_unknown_and_later_calls_unsent) {
  peer server([](const peer::client& c, int) {
    c.write(settings());
    std::string seen;
    while (seen.find("ask") == std::string::npos) {
      const auto more = c.read();
      if (more.empty()) return;
      seen += more;
    }
  });
  client c(server.address());
  ASSERT_TRUE(c.happened->wait_up());
  EXPECT_EQ(c.call().what, kind::unknown);
}

TEST(grpc_peer, that_speaks_something_else_is_asked_about) {
  for (const char* greeting : {"-ERR unknown command\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n",
                               "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"}) {
    scripted p("", greeting);
    client c(p.server.address());
    const auto why = c.happened->wait_down();
    EXPECT_NE(why.find("no HTTP/2"), std::string::npos) << why;
    EXPECT_NE(why.find("+tls"), std::string::npos) << why;
    EXPECT_EQ(why.find("HTTP/2:"), std::string::npos) << "what a library says of it: " << why;
    EXPECT_EQ(c.call().what, kind::not_sent);
  }
}

TEST(grpc_peer, that_goes_or_resets_before_it_said_anything_is_asked_about) {
  for (const bool resets : {false, true}) {
    peer server([resets](const peer::client& c, int) {
      static_cast<void>(c.read());
      if (resets) c.reset();
    });
    client c(server.address());
    const auto why = c.happened->wait_down();
    EXPECT_NE(why.find("before anything was said"), std::string::npos) << why;
    EXPECT_NE(why.find("+tls"), std::string::npos) << why;
  }
}

}  // namespace
}  // namespace holdfast::io
