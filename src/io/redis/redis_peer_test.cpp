#include "io/net/peer_fixture.hpp"
#include "io/redis/redis_client_fixture.hpp"
#include "io/thread/latch.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <thread>

namespace holdfast::io {
namespace {

using outcome = redis_answer::outcome;

TEST(redis_peer, that_answers_garbage_is_lost_and_tried_again) {
  peer server([](const peer::client& c, int number) {
    if (number == 0) {
      c.read();
      c.write("HTTP/1.1 400 Bad Request\r\n\r\n");
    } else if (c.greet()) {
      c.read();
      c.write(number == 1 ? "$-7\r\n" : "+OK\r\n");
      c.read();
    }
  });
  redis_client client(server.address());
  const auto why = client.events->wait_down();
  EXPECT_TRUE(contains(why, "no RESP")) << why;
  EXPECT_TRUE(contains(why, "+tls")) << why;
  client.events->wait_up(1);
  const auto cut = client.ask(1, bytes_of("PING"));
  EXPECT_EQ(cut.what, outcome::unknown);
  client.events->wait_up(2);
  EXPECT_TRUE(client.ask(2, bytes_of("PING")).reply.is_ok());
}

TEST(redis_peer, every_hostile_answer_ends_the_connection_and_nothing_else) {
  const std::vector<std::string> answers{"$99999999999\r\n",
                                         "*1000000\r\n",
                                         "$3\r\nabcde",
                                         ":12x\r\n",
                                         "+no\rline\r\n",
                                         "*-2\r\n",
                                         "\r\n",
                                         "\x15\x03\x01",
                                         std::string(100'000, '+'),
                                         ":99999999999999999999\r\n"};
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += "*1\r\n";
  for (auto all = answers; const auto& bytes : (all.push_back(deep), all)) {
    peer server([&](const peer::client& c, int number) {
      if (number > 0 || !c.greet()) return;
      c.read();
      c.write(bytes);
      c.read();
    });
    redis_client client(server.address());
    client.events->wait_up();
    const auto a = client.ask(1, bytes_of("PING"));
    EXPECT_EQ(a.what, outcome::unknown) << bytes.substr(0, 20);
    EXPECT_TRUE(contains(a.why, "no RESP")) << a.why;
  }
}

TEST(redis_peer, hears_of_many_commands_before_their_turn_is_over) {
  peer server([](const peer::client& c, int) {
    if (!c.greet()) return;
    while (!c.read().empty()) {
    }
  });
  redis_client client(server.address());
  client.events->wait_up();
  const auto bytes = bytes_of("ECHO", std::string(1'000, 'x'));
  client.in_one_turn([&] {
    const auto before = client.connection->count().writes;
    for (std::uint64_t tag = 0; tag < 10; ++tag) EXPECT_TRUE(client.send(tag, bytes));
    EXPECT_EQ(client.connection->count().writes, before);
    for (std::uint64_t tag = 10; tag < 30; ++tag) EXPECT_TRUE(client.send(tag, bytes));
    EXPECT_EQ(client.connection->count().writes, before + 1);
  });
}

TEST(redis_peer, an_answer_to_no_command_ends_the_connection) {
  peer server([](const peer::client& c, int number) {
    if (number > 0 || !c.greet()) return;
    c.read();
    c.write("+OK\r\n+OK\r\n");
    c.read();
  });
  redis_client client(server.address());
  client.events->wait_up();
  EXPECT_TRUE(client.ask(1, bytes_of("PING")).reply.is_ok());
  EXPECT_TRUE(contains(client.events->wait_down(), "answer to no command"));
}

/// Sends one command more as soon as it is told an answer.
class goes_on final : public redis_receiver {
 public:
  explicit goes_on(redis_client& with) : with_(with) {}
  void answered(std::uint64_t tag, const redis_answer&) override {
    sent = with_.send(tag + 1, bytes_of("PING")).has_value();
  }
  bool sent{};

 private:
  redis_client& with_;
};

TEST(redis_peer, an_answer_to_a_command_that_has_not_left_yet_ends_the_connection) {
  peer server([](const peer::client& c, int number) {
    if (number > 0 || !c.greet()) return;
    c.read();
    c.write("+PONG\r\n+PONG\r\n");
    c.read();
  });
  redis_client client(server.address());
  client.events->wait_up();
  const auto first = std::make_shared<goes_on>(client);
  ASSERT_TRUE(client.connection->send({.bytes = bytes_of("PING"),
                                       .deadline = clock::now() + 20s,
                                       .receiver = first,
                                       .tag = 1,
                                       .subscribes = false,
                                       .may_fill = false}));
  EXPECT_TRUE(contains(client.events->wait_down(), "answer to no command"));
  EXPECT_EQ(client.answers->wait(2).what, outcome::not_sent);
  EXPECT_TRUE(first->sent);
}

TEST(redis_peer, has_not_seen_what_was_sent_in_the_turn_that_lost_it) {
  peer server([](const peer::client& c, int number) {
    if (number > 0 || !c.greet()) return;
    c.read();
    c.write("+OK\r\n$-7\r\n");
    c.read();
  });
  redis_client client(server.address());
  client.events->wait_up();
  struct asks_again final : redis_receiver {
    explicit asks_again(redis_client& c) : client(c) {}
    void answered(std::uint64_t, const redis_answer&) override {
      EXPECT_TRUE(client.send(2, bytes_of("PING")));
      std::thread([&] { EXPECT_TRUE(client.send(3, bytes_of("PING"))); }).join();
    }
    redis_client& client;
  };
  const auto ping = bytes_of("PING");
  ASSERT_TRUE(client.connection->send(
      {.bytes = ping, .receiver = std::make_shared<asks_again>(client), .tag = 1}));
  EXPECT_EQ(client.answers->wait(2).what, outcome::not_sent);
  EXPECT_EQ(client.answers->wait(3).what, outcome::not_sent);
  EXPECT_EQ(client.connection->count().unanswered, 0U);
}

TEST(redis_peer, gets_a_turn_that_began_behind_a_full_socket) {
  latch may_read;
  peer server([&](const peer::client& c, int number) {
    if (number > 0 || !c.greet()) return;
    may_read.wait();
    for (std::string all; all.find("PING") == std::string::npos;) {
      const auto got = c.read();
      if (got.empty()) return;
      all = all.substr(all.size() - std::min<std::size_t>(all.size(), 8)) + got;
    }
    c.write("+OK\r\n+OK\r\n+PONG\r\n+PONG\r\n");
    c.read();
  });
  redis_client client(
      redis_options{.address = server.address(), .queued_bytes_max = 64 * 1024 * 1024});
  client.events->wait_up();
  const auto big = bytes_of("SET", "k", std::string(8'000'000, 'v'));
  for (const std::uint64_t tag : {1, 2}) EXPECT_TRUE(client.send(tag, big));
  EXPECT_GT(client.connection->count().queued_bytes, 1'000'000U) << "the socket is full";
  client.in_one_turn([&] { EXPECT_TRUE(client.send(3, bytes_of("ECHO", "x"), 30ms)); });
  EXPECT_EQ(client.answers->wait(3).what, outcome::unknown) << "its deadline";
  EXPECT_TRUE(client.send(4, bytes_of("PING")));
  may_read.open();
  EXPECT_EQ(client.answers->wait(4).reply.text, "PONG");
  EXPECT_EQ(client.connection->count().unanswered, 0U);
}

TEST(redis_peer, pushes_and_pieces_of_one_byte_change_no_answer) {
  peer server([](const peer::client& c, int) {
    if (!c.greet()) return;
    c.read();
    for (const char byte : std::string(">2\r\n+invalidate\r\n_\r\n:7\r\n>1\r\n$2\r\nhi\r\n")) {
      c.write({&byte, 1});
    }
    c.read();
  });
  redis_client client(server.address());
  client.events->wait_up();
  EXPECT_EQ(client.ask(1, bytes_of("INCR", "n")).reply.integer, 7);
  EXPECT_EQ(client.events->wait_pushes(2).at(1).elements.at(0).text, "hi");
}

TEST(redis_peer, that_speaks_resp2_only_is_used_and_its_messages_are_pushes) {
  peer server([](const peer::client& c, int) {
    if (!c.greet(false)) return;
    c.read();
    c.write("*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
    c.write("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n");
    c.read();
  });
  redis_client client(server.address());
  client.events->wait_up();
  EXPECT_EQ(client.events->facts().protocol, 2);
  ASSERT_TRUE(client.send(1, bytes_of("SUBSCRIBE", "c"), 20s, true));
  EXPECT_EQ(client.answers->wait(1).reply.elements.at(0).text, "subscribe");
  EXPECT_EQ(client.events->wait_pushes(1).at(0).elements.at(2).text, "hi");
}

TEST(redis_peer, cut_at_every_byte_of_an_answer_gives_unknown_never_a_wrong_answer) {
  const std::string answer = "$5\r\nhello\r\n";
  for (std::size_t size = 0; size < answer.size(); ++size) {
    peer server([&](const peer::client& c, int number) {
      if (number > 0 || !c.greet()) return;
      c.read();
      c.write(answer.substr(0, size));
    });
    redis_client client(server.address());
    client.events->wait_up();
    EXPECT_EQ(client.ask(1, bytes_of("GET", "k")).what, outcome::unknown) << size;
  }
}

TEST(redis_peer, that_resets_the_connection_leaves_unknown_outcomes) {
  peer server([](const peer::client& c, int number) {
    if (number > 0 || !c.greet()) return;
    c.read();
    c.reset();
  });
  redis_client client(server.address());
  client.events->wait_up();
  const auto a = client.ask(1, bytes_of("GET", "k"));
  EXPECT_EQ(a.what, outcome::unknown);
  EXPECT_TRUE(contains(a.why, "connection")) << a.why;
}

/// Counts the moments in which it is told something.
class counts_moments final : public redis_receiver {
 public:
  void answered(std::uint64_t, const redis_answer& a) override {
    EXPECT_EQ(a.what, outcome::unknown);
    if (a.at != last_) ++moments;
    last_ = a.at;
    if (--left == 0) done.open();
  }
  std::size_t left{1'000};
  std::size_t moments{};
  latch done;

 private:
  time_point last_{};
};

TEST(redis_peer, that_hangs_is_looked_at_for_many_late_answers_together) {
  peer server([](const peer::client& c, int) {
    if (!c.greet()) return;
    while (!c.read().empty()) {
    }
  });
  redis_client client(server.address());
  client.events->wait_up();
  const auto counted = std::make_shared<counts_moments>();
  const auto ping = bytes_of("PING");
  const auto first = clock::now() + 50ms;
  client.in_one_turn([&] {
    for (int i = 0; i < 1'000; ++i) {
      EXPECT_TRUE(client.connection->send(
          {.bytes = ping, .deadline = first + i * 100us, .receiver = counted}));
    }
  });
  counted->done.wait();
  EXPECT_LT(counted->moments, 250U) << "each look interrupts those who are answered";
}

TEST(redis_peer, what_the_kernel_never_took_was_not_sent) {
  std::atomic<bool> done{false};
  peer server([&](const peer::client& c, int number) {
    if (number > 0 || !c.greet()) return;
    while (!done) std::this_thread::sleep_for(1ms);
    c.reset();
  });
  redis_client client({.address = server.address(), .queued_bytes_max = 64 * 1024 * 1024});
  client.events->wait_up();
  // More than both buffers of the kernel can hold: the last one stays here.
  const auto large = bytes_of("SET", "k", std::string(512 * 1024, 'x'));
  for (std::uint64_t i = 0; i < 50; ++i) ASSERT_TRUE(client.send(i, large));
  done = true;
  client.answers->wait_for_count(50);
  EXPECT_EQ(client.answers->wait(0).what, outcome::unknown);
  EXPECT_EQ(client.answers->wait(49).what, outcome::not_sent);
  const auto order = client.answers->order();
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

/// Answers every PING, however they come.
void answer_pings(const peer::client& c, int) {
  if (!c.greet()) return;
  const std::size_t length = bytes_of("PING").size();
  std::size_t owed = 0;
  for (std::string got = c.read(); !got.empty(); got = c.read()) {
    std::string answers;
    for (owed += got.size(); owed >= length; owed -= length) answers += "+PONG\r\n";
    c.write(answers);
  }
}

TEST(redis_peer, that_is_not_there_takes_nothing_from_the_loop_s_thread_either) {
  peer server([](const peer::client&, int) {});
  redis_client client(server.address());
  client.in_one_turn([&] {
    const auto refused = client.send(1, bytes_of("PING"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), errc::unavailable);
  });
}

TEST(redis_peer, serves_a_connection_that_nobody_listens_to) {
  peer server([](const peer::client& c, int) {
    if (!c.greet()) return;
    c.read();
    c.write(">1\r\n+news\r\n+PONG\r\n");
    c.read();
  });
  redis_client client(server.address());
  client.events->wait_up();
  client.events.reset();
  EXPECT_EQ(client.ask(1, bytes_of("PING")).reply.text, "PONG");
  const auto alone = redis_connection::start(client.l, {.address = server.address()}, {});
  client.connection.reset();
  for (int i = 0; i < 2000 && !alone->is_up(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(alone->is_up());
}

TEST(redis_peer, that_greets_between_pushes_is_greeted) {
  peer server([](const peer::client& c, int) {
    c.read();
    c.write(">1\r\n+news\r\n%1\r\n$7\r\nversion\r\n$3\r\n7.0\r\n");
    c.read();
    c.write(">1\r\n+news\r\n$11\r\nrole:master\r\n");
    c.read();
  });
  redis_client client(server.address());
  client.events->wait_up();
  EXPECT_EQ(client.events->facts().role, "master");
  EXPECT_EQ(client.connection->count().connects, 1U);
}

// In RESP2 only who has subscribed on this connection can be sent a message.
TEST(redis_peer, that_speaks_resp2_may_answer_what_looks_like_a_message) {
  const std::string message = "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n";
  peer server([&](const peer::client& c, int number) {
    if (!c.greet(false)) return;
    c.read();
    if (number == 0) {
      c.write("+PONG\r\n" + message + "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n" + message);
      c.read();
      return;
    }
    c.write(message);
    c.read();
  });
  redis_client client(server.address());
  client.events->wait_up();
  client.in_one_turn([&] {
    ASSERT_TRUE(client.send(0, bytes_of("PING")));
    ASSERT_TRUE(client.send(1, bytes_of("LRANGE", "l", 0, 2)));
    ASSERT_TRUE(client.send(2, bytes_of("SUBSCRIBE", "c"), 20s, true));
  });
  EXPECT_EQ(client.answers->wait(1).reply.elements.at(2).text, "hi");
  EXPECT_EQ(client.events->wait_pushes(1).size(), 1U);
  ASSERT_TRUE(client.send(3, bytes_of("QUIT")));  // The server leaves.
  EXPECT_EQ(client.answers->wait(3).what, outcome::unknown);
  client.events->wait_up(2);
  EXPECT_EQ(client.ask(4, bytes_of("LRANGE", "l", 0, 2)).reply.elements.at(2).text, "hi");
}

/// Says on which thread a connection came up.
class up_on_thread final : public redis_listener {
 public:
  void up(const redis_facts&) override {
    thread = std::this_thread::get_id();
    came.open();
  }
  std::thread::id thread;
  latch came;
};

TEST(redis_peer, is_sent_to_by_a_caller_on_whose_thread_the_connection_came_up) {
  peer server(answer_pings);
  const auto l = *loop::start();
  const auto answers = std::make_shared<kept_answers>();
  std::unique_ptr<redis_connection> connection;
  // On a busy machine the loop's own thread may be quicker.
  bool came_here = false;
  for (int attempt = 0; attempt < 100 && !came_here; ++attempt) {
    // A caller that blocks often enough runs the loop itself.
    for (int i = 0; i < 20; ++i) {
      latch done;
      l->post([&] { done.open(); });
      ASSERT_TRUE(l->lend(done.place()));
      done.wait();
    }
    const auto events = std::make_shared<up_on_thread>();
    connection = redis_connection::start(l, {.address = server.address()}, events);
    ASSERT_TRUE(l->lend(events->came.place()));
    events->came.wait();
    came_here = events->thread == std::this_thread::get_id();
  }
  ASSERT_TRUE(came_here);
  constexpr std::uint64_t count = 20'000;
  const std::string ping = bytes_of("PING");
  for (std::uint64_t i = 1; i <= count; ++i) {
    ASSERT_TRUE(connection->send({.bytes = ping,
                                  .deadline = clock::now() + 20s,
                                  .receiver = answers,
                                  .tag = i,
                                  .subscribes = false,
                                  .may_fill = false}));
    if (i % 100 == 0) answers->wait_for_count(i - 50);
  }
  answers->wait_for_count(count);
}

TEST(redis_peer, lets_a_connection_be_destroyed_in_every_state) {
  peer server(answer_pings);
  for (int i = 0; i < 50; ++i) {
    redis_client client(server.address());
    if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds{50 * i});
    const bool sent = i % 3 == 0 && client.send(1, bytes_of("PING"));
    if (i % 5 == 0) client.events->wait_up();
    client.connection.reset();
    // Whichever way it went, its receiver is not left waiting.
    if (sent) client.answers->wait(1);
  }
}

}  // namespace
}  // namespace holdfast::io
