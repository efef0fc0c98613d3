#include "io/net/stream.hpp"

#include "io/net/one_write.hpp"
#include "io/net/peer_fixture.hpp"
#include "io/net/slow_resolver_fixture.hpp"
#include "io/net/stream_socket.hpp"
#include "io/thread/latch.hpp"
#include "io/thread/loop.hpp"

#include <gtest/gtest.h>

#include <array>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

/// Keeps what is told of one connection. It leaves the connection as it is, also when it is lost.
class hearer final : public stream::listener {
 public:
  void opened() override {
    if (at_opening) at_opening();
    keep("opened");
  }
  void names_hang(const std::string&) override { keep("names hang"); }
  void late() override { keep("late"); }
  std::span<char> space() override { return room_; }
  void received(std::size_t count) override {
    const std::lock_guard hold(mutex_);
    received_.append(room_.data(), count);
    changed_.notify_all();
  }
  void lost(const error& why) override {
    keep("lost: " + why.message());
    if (at_the_end) at_the_end();
  }

  std::vector<std::string> heard() {
    const std::lock_guard hold(mutex_);
    return heard_;
  }
  /// Once so much was told; less after 20 s.
  std::vector<std::string> wait_for(std::size_t count) {
    std::unique_lock hold(mutex_);
    changed_.wait_for(hold, 20s, [&] { return heard_.size() >= count; });
    return heard_;
  }

  /// The first that the server has sent; nothing after 20 s.
  std::string wait_received() {
    std::unique_lock hold(mutex_);
    changed_.wait_for(hold, 20s, [&] { return !received_.empty(); });
    return received_;
  }

  // Set before anything is told.
  std::function<void()> at_opening;
  std::function<void()> at_the_end;

 private:
  void keep(std::string what) {
    const std::lock_guard hold(mutex_);
    heard_.push_back(std::move(what));
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> heard_;
  std::string received_;
  std::array<char, 4096> room_{};
};

/// A connection that is there until the end of its test.
struct line {
  line(const std::shared_ptr<loop>& on, stream::target to) : l(on) {
    to.silence_max = 10s;
    made = stream::make(l, std::move(to), events, count);
  }
  /// What is posted to the loop later runs behind that.
  void start() const {
    l->post([this] { made->start(l); });
  }

  std::shared_ptr<loop> l;
  std::shared_ptr<hearer> events{std::make_shared<hearer>()};
  std::shared_ptr<stream::counters> count{std::make_shared<stream::counters>()};
  std::shared_ptr<stream> made;
};

/// Returns when the loop has done all that it had to do until then.
void run_until(loop& l, time_point when) {
  latch done;
  l.at(when, [&] { done.open(); });
  done.wait();
}

/// Sends the number of the connection.
void say_number(const peer::client& c, int number) {
  c.write(std::to_string(number));
  c.read();
}

TEST(stream, tells_its_end_once_and_nothing_behind_it) {
  peer server([](const peer::client& c, int) { c.reset(); });
  const auto l = *loop::start();
  const line one(l, {.address = server.address(), .connect_limit = 1h});
  latch lost;
  one.events->at_the_end = [&] {
    // Would be told that it cannot be sent.
    one.made->append("more");
    one.made->flush();
    lost.open();
  };
  one.start();
  lost.wait();
  run_until(*l, clock::now() + 50ms);
  const auto heard = one.events->heard();
  ASSERT_EQ(heard.size(), 2U) << heard.back();
  EXPECT_EQ(heard.front(), "opened");
}

TEST(stream, that_cannot_be_read_or_written_tells_one_of_the_two) {
  latch may;
  latch has;
  peer server([&](const peer::client& c, int) {
    may.wait();
    c.reset();
    c.leave();
    has.open();
  });
  const auto l = *loop::start();
  const line one(l, {.address = server.address(), .connect_limit = 1h});
  one.start();
  ASSERT_EQ(one.events->wait_for(1).size(), 1U);
  latch done;
  l->post([&] {
    may.open();
    has.wait();
    // The loop looks at its sockets first, and reads behind this.
    l->post([&] {
      one.made->append(std::string(stream::worth_sending, 'x'));
      one.made->flush();
      done.open();
    });
  });
  done.wait();
  run_until(*l, clock::now() + 20ms);
  EXPECT_EQ(one.events->heard().size(), 2U);
}

TEST(stream, whose_listener_is_gone_ends_when_something_comes) {
  latch may;
  std::promise<std::string> seen;
  peer server([&](const peer::client& c, int) {
    may.wait();
    c.write("for nobody");
    seen.set_value(c.is_left() ? "left" : "kept");
  });
  const auto l = *loop::start();
  line one(l, {.address = server.address(), .connect_limit = 1h});
  one.start();
  ASSERT_EQ(one.events->wait_for(1).size(), 1U);
  latch forgotten;
  l->post([&] {
    one.events.reset();
    one.made.reset();
    forgotten.open();
  });
  forgotten.wait();
  may.open();
  EXPECT_EQ(seen.get_future().get(), "left");
}

TEST(stream, that_is_closed_while_it_connects_connects_no_more) {
  peer server(say_number);
  const auto l = *loop::start();
  const line closed(l, {.address = server.address(), .connect_limit = 20ms});
  const line other(l, {.address = server.address(), .connect_limit = 1h});
  l->post([&] {
    closed.made->start(l);
    closed.made->close();
    other.made->start(l);
  });
  EXPECT_EQ(other.events->wait_received(), "0") << "the first that the server saw";
  run_until(*l, clock::now() + 50ms);
  EXPECT_TRUE(closed.events->heard().empty()) << closed.events->heard().front();
}

TEST(stream, that_is_closed_while_a_socket_is_being_connected_is_not_opened) {
  peer server(say_number);
  const auto l = *loop::start();
  for (int turns = 0; turns < 8; ++turns) {
    const line one(l, {.address = server.address(), .connect_limit = 1h});
    one.start();
    // Between the task that begins to connect and the event that ends it, in one of the rounds.
    latch closed;
    std::size_t told = 0;
    l->post([&] {
      for (int i = 0; i < turns; ++i) l->post([] {});
      l->post([&] {
        one.made->close();
        told = one.events->heard().size();
        closed.open();
      });
    });
    closed.wait();
    run_until(*l, clock::now() + 5ms);
    EXPECT_EQ(one.events->heard().size(), told) << turns;
  }
}

TEST(stream, that_is_closed_is_not_late) {
  peer server(say_number);
  const auto l = *loop::start();
  const line one(l, {.address = server.address(), .connect_limit = 100ms});
  one.events->at_opening = [&] { one.made->close(); };
  one.start();
  ASSERT_EQ(one.events->wait_for(1).size(), 1U);
  run_until(*l, clock::now() + 150ms);
  EXPECT_EQ(one.events->heard().back(), "opened");
}

TEST(stream, whose_name_is_asked_for_again_and_again_connects_once) {
  slow_resolver names;
  peer server(say_number);
  const auto l = *loop::start();
  const line one(l, {.address = {.host = "once.slow", .port = server.address().port, .path = {}},
                     .connect_limit = 200ms});
  one.start();
  // Each of these has asked anew.
  ASSERT_EQ(one.events->wait_for(2).size(), 2U);
  names.answer();
  EXPECT_EQ(one.events->wait_received(), "0") << "the first that the server saw";
}

TEST(stream, is_lost_when_its_name_leads_elsewhere) {
  slow_resolver names;
  names.answer();
  peer server(say_number);
  const auto l = *loop::start();
  const line one(l, {.address = {.host = "moves.slow", .port = server.address().port, .path = {}},
                     .connect_limit = 1h,
                     .name_every = 1ms});
  one.start();
  ASSERT_EQ(one.events->wait_received(), "0");
  names.lead_to({"127.0.0.2"});
  const auto heard = one.events->wait_for(2);
  ASSERT_EQ(heard.size(), 2U);
  EXPECT_EQ(heard.back(),
            "lost: the name 'moves.slow' leads to 127.0.0.2 now, and no longer to 127.0.0.1");
}

TEST(stream, asks_for_its_name_no_more_when_it_is_closed) {
  slow_resolver names;
  names.answer();
  peer server(say_number);
  const auto l = *loop::start();
  const line one(l, {.address = {.host = "closed.slow", .port = server.address().port, .path = {}},
                     .connect_limit = 1h,
                     .name_every = 1ms});
  one.start();
  ASSERT_EQ(one.events->wait_received(), "0");
  int asked = 0;
  latch closed;
  l->post([&] {
    one.made->close();
    asked = names.questions();
    closed.open();
  });
  closed.wait();
  run_until(*l, clock::now() + 100ms);
  EXPECT_LE(names.questions(), asked + 1) << "the one that was under way";
}

TEST(stream, may_be_gone_with_its_loop_before_its_name_is_found_out) {
  for (const bool loop_stays : {true, false}) {
    slow_resolver names;
    const node_address node{.host = loop_stays ? "gone.slow" : "all.slow", .port = 7, .path = {}};
    auto l = *loop::start();
    {
      const line one(l, {.address = node, .connect_limit = 1h});
      one.start();
      while (names.questions() == 0) run_until(*l, clock::now() + 1ms);
    }
    if (!loop_stays) l.reset();
    const auto told = std::make_shared<latch>();
    look_up(node, [told](const auto&) { told->open(); });
    names.answer();
    told->wait();  // It asked later, and is told behind it.
    if (loop_stays) run_until(*l, clock::now());
  }
}

// A server that takes connections and says nothing must not be the only one that is ever asked.
TEST(stream, begins_with_another_address_in_each_attempt) {
  slow_resolver names;
  names.answer();
  names.lead_to({"127.0.0.1", "127.0.0.2"});
  peer first([](const peer::client& c, int) { c.write("first"); });
  const auto port = first.address().port;
  peer second([](const peer::client& c, int) { c.write("second"); }, "127.0.0.2", port);
  const auto l = *loop::start();
  for (unsigned attempt = 0; attempt < 4; ++attempt) {
    const line one(l, {.address = {.host = "two.slow", .port = port, .path = {}},
                       .connect_limit = 1h,
                       .attempt = attempt});
    one.start();
    EXPECT_EQ(one.events->wait_received(), attempt % 2 == 0 ? "first" : "second") << attempt;
  }
}

TEST(stream, that_is_to_be_encrypted_is_not_opened_while_nobody_shakes_hands) {
  std::promise<std::string> came;
  latch may_go;
  peer server([&](const peer::client& c, int) {
    came.set_value(c.read());
    may_go.wait();
  });
  const auto l = *loop::start();
  const auto tls = *tls_source::make({.verify = tls_options::verification::none});
  const line one(l, {.address = server.address(), .tls = tls, .connect_limit = 1h});
  one.made->append("secret");
  one.start();
  const auto hello = came.get_future().get();
  EXPECT_EQ(hello.find("secret"), std::string::npos);
  run_until(*l, clock::now() + 20ms);
  EXPECT_TRUE(one.events->heard().empty());
  may_go.open();
  ASSERT_EQ(one.events->wait_for(1).size(), 1U);
  EXPECT_EQ(one.events->heard().front(), "lost: the server closed the connection");
}

TEST(stream, sends_what_was_appended_in_a_turn_when_it_ends_or_as_soon_as_it_is_a_lot) {
  peer server([](const peer::client& c, int) {
    while (!c.read().empty()) {
    }
  });
  const auto l = *loop::start();
  const line one(l, {.address = server.address(), .connect_limit = 1h});
  one.start();
  ASSERT_EQ(one.events->wait_for(1).size(), 1U);
  latch done;
  l->post([&] {
    for (int i = 0; i < 10; ++i) {
      one.made->append("a little");
      one.made->flush();
    }
    EXPECT_EQ(one.count->writes, 0U);
    one.made->append(std::string(stream::worth_sending, 'x'));
    one.made->flush();
    EXPECT_EQ(one.count->writes, 1U);
    one.made->append("the rest");
    one.made->flush();
    EXPECT_EQ(one.count->writes, 1U);
    l->post([&] { l->post([&] { done.open(); }); });
  });
  done.wait();
  EXPECT_EQ(one.count->writes, 2U);
  EXPECT_EQ(one.made->backlog(), 0U);
}

TEST(stream, sends_in_one_write_what_a_thread_gathers) {
  peer server([](const peer::client& c, int) { EXPECT_EQ(c.read(), "all of it"); });
  const auto l = *loop::start();
  for (int i = 0; i < 2; ++i) {
    const line one(l, {.address = server.address(), .connect_limit = 1h});
    one.start();
    ASSERT_EQ(one.events->wait_for(1).size(), 1U);
    {
      const one_write together;
      for (const char* part : {"all ", "of ", "it"}) {
        one.made->append(part);
        one.made->flush();
      }
      EXPECT_EQ(one.count->writes, 0U);
    }
    EXPECT_EQ(one.count->writes, 1U);
    ASSERT_EQ(one.events->wait_for(2).size(), 2U) << "the server has read it";
  }
}

TEST(stream, sends_what_another_thread_appends_while_the_loop_is_busy) {
  std::promise<std::string> came;
  peer server([&](const peer::client& c, int) { came.set_value(c.read()); });
  latch busy;
  latch seen;  // Waited for by the loop, which ends before it.
  const auto l = *loop::start();
  const line one(l, {.address = server.address(), .connect_limit = 1h});
  one.start();
  ASSERT_EQ(one.events->wait_for(1).size(), 1U);
  l->post([&] {
    busy.open();
    seen.wait();
  });
  busy.wait();
  one.made->append("now");
  one.made->flush();
  EXPECT_EQ(came.get_future().get(), "now");
  seen.open();
}

}  // namespace
}  // namespace holdfast::io
