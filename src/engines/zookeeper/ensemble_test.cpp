#include "engines/zookeeper/scripted_server_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// What becomes of requests when servers are silent, lost, late or none. With real ones:
/// tests/zookeeper.

namespace holdfast::engines::zookeeper {
namespace {

using core::status;

constexpr duration node_timeout = 3s;
constexpr std::int32_t not_allowed = -102;

/// A server whose every connection is taken by the next of these; the last one by all that follow.
class lives {
 public:
  explicit lives(std::vector<std::function<void(const io::peer::client&, line&)>> all)
      : all_(std::move(all)), peer_([this](const io::peer::client& c, int number) {
          line l(c);
          all_[std::min(static_cast<std::size_t>(number), all_.size() - 1)](c, l);
        }) {}

  const io::node_address& address() const { return peer_.address(); }

 private:
  const std::vector<std::function<void(const io::peer::client&, line&)>> all_;
  io::peer peer_;
};

/// Has whatever is asked for.
void serve_on(const io::peer::client&, line& l) {
  l.greet();
  while (const auto r = l.next()) l.answer(*r, node_of("data"));
}
/// And the store, of a client that does not know that yet.
void serve(const io::peer::client&, line& l) {
  l.open();
  while (const auto r = l.next()) l.answer(*r, node_of("data"));
}

// ---- a server that is silent ----

// A follower was seen to do so, and to go on when it was asked for something else.
TEST(zookeeper_ensemble_silence, a_server_that_is_silent_is_asked_once_more_and_then_given_up) {
  std::promise<std::vector<std::uint32_t>> asked;
  lives server({[&](const auto&, line& l) {
                  l.open();
                  asked.set_value(l.all_asked());
                },
                serve_on});
  const client c({server.address()}, node_timeout);
  EXPECT_EQ(result_of(c.send({create("/t/x")})).what, status::unknown);
  EXPECT_EQ(asked.get_future().get(), (std::vector{line::create, line::get}))
      << "one more is to wake it";
  EXPECT_EQ(result_of(c.send({get("/t/x")})).what, status::ok);
}

// The client library takes whatever comes for a sign of life.
TEST(zookeeper_ensemble_silence, a_server_that_tells_of_changes_and_answers_nothing_is_given_up) {
  std::atomic<bool> given_up{};
  lives server({[&](const auto&, line& l) {
                  l.open();
                  l.next();
                  while (!given_up) {
                    l.tell_change("/t/y");
                    std::this_thread::sleep_for(200ms);
                  }
                },
                serve_on});
  const client c({server.address()}, node_timeout);
  EXPECT_EQ(result_of(c.send({create("/t/x")})).what, status::unknown);
  given_up = true;
  EXPECT_EQ(result_of(c.send({get("/t/x")}, repeat::always)).what, status::ok);
}

TEST(zookeeper_ensemble_silence, a_batch_may_take_longer_while_its_answers_come) {
  static constexpr duration longer = 5s;
  lives server({[](const auto&, line& l) {
    l.open();
    while (const auto r = l.next()) {
      std::this_thread::sleep_for(longer / 10);
      l.answer(*r, node_of("data"));
    }
  }});
  const client c({server.address()}, longer);
  const auto begun = clock::now();
  const auto r = result_of(c.send(std::vector(11, get("/t/x"))));
  EXPECT_GT(clock::now() - begun, longer);
  EXPECT_EQ(r.what, status::ok) << r.text;
}

TEST(zookeeper_ensemble_silence, a_server_that_never_greets_is_waited_for_until_the_time_is_over) {
  lives server({[](const auto&, line& l) { l.all_asked(); }});
  const client c({server.address()}, 1s);
  EXPECT_EQ(result_of(c.send({get("/t/x")})).what, status::unavailable);
}

// ---- a server that is lost ----

TEST(zookeeper_ensemble_loss, a_read_is_sent_again_and_a_write_is_not) {
  std::promise<std::vector<std::uint32_t>> asked;
  lives server({[](const auto&, line& l) {
                  l.open();
                  l.next();
                },
                [](const auto&, line& l) {
                  l.greet();
                  l.answer_next(node_of("data"));
                  l.next();
                },
                [&](const auto&, line& l) {
                  l.greet();
                  std::vector<std::uint32_t> types;
                  while (const auto r = l.next()) {
                    types.push_back(r->type);
                    l.answer(*r, node_of("data"));
                  }
                  asked.set_value(types);
                }});
  {
    const client c({server.address()}, node_timeout);
    EXPECT_EQ(result_of(c.send({get("/t/x")}, repeat::always)).what, status::ok);
    EXPECT_EQ(result_of(c.send({create("/t/x")})).what, status::unknown);
    EXPECT_EQ(result_of(c.send({get("/t/x")}, repeat::always)).what, status::ok);
  }
  EXPECT_EQ(std::ranges::count(asked.get_future().get(), line::create), 0);
}

TEST(zookeeper_ensemble_loss, what_waits_for_the_store_is_kept_when_its_server_is_lost) {
  lives server({[](const auto&, line& l) {
                  l.greet();
                  l.asked_for_store();
                },
                serve});
  const client c({server.address()}, 10s);
  const auto r = result_of(c.send({get("/t/x")}));
  EXPECT_EQ(r.what, status::ok) << r.text;
}

// Else the client library sets them again by itself.
TEST(zookeeper_ensemble_loss, ends_the_watches_once_where_they_are_given_up_and_nowhere_else) {
  struct watching final : ensemble::listener {
    explicit watching(bool gives) : gives_up(gives) {}
    void changed(const std::string&) override { ++changes; }
    bool gives_watches_up() override { return gives_up; }
    void watches_lost() override { ++lost; }
    const bool gives_up;
    std::atomic<int> changes{};
    std::atomic<int> lost{};
  };
  for (const bool gives_up : {false, true}) {
    const auto listens = std::make_shared<watching>(gives_up);
    lives server({[](const auto&, line& l) {
                    l.open();
                    l.next();
                  },
                  serve_on});
    const client c({server.address()}, node_timeout);
    c.listen(listens);
    EXPECT_EQ(result_of(c.send({create("/t/x")})).what, status::unknown);
    EXPECT_EQ(result_of(c.send({get("/t/x")}, repeat::always)).what, status::ok);
    EXPECT_EQ(listens->lost, gives_up ? 1 : 0);
    EXPECT_EQ(listens->changes, 0) << "a loss is no change of a node";
  }
}

// It may be restarting: only of one that was never there is nothing to be hoped for.
TEST(zookeeper_ensemble_loss, servers_that_were_there_are_waited_for) {
  std::promise<void> waits;
  lives server({[&](const auto&, line& l) {
                  l.open();
                  l.next();
                },
                [&](const io::peer::client& c, line&) {
                  waits.get_future().wait_for(10s);
                  greet_wrongly(c);
                },
                [](const io::peer::client& c, line&) { greet_wrongly(c); },
                [](const io::peer::client& c, line&) { greet_wrongly(c); }, serve_on});
  const client c({server.address()}, 10s);
  EXPECT_EQ(result_of(c.send({create("/t/x")})).what, status::unknown);
  auto later = c.send({create("/t/x")});
  waits.set_value();
  const auto r = result_of(std::move(later));
  EXPECT_EQ(r.what, status::ok) << r.text;
}

// ---- none there ----

TEST(zookeeper_ensemble_absence, is_told_at_once_and_each_question_is_a_new_try) {
  std::promise<void> asked_again;
  lives server({[](const io::peer::client& c, line&) { greet_wrongly(c); },
                [&](const auto& c, line& l) {
                  asked_again.get_future().wait_for(10s);
                  serve(c, l);
                }});
  const client c({server.address()}, 10s);
  const auto began = clock::now();
  EXPECT_EQ(result_of(c.send({get("/t/x")})).what, status::unavailable);
  EXPECT_LT(clock::now() - began, 8s) << "node_timeout is 10 s";
  auto again = c.send({get("/t/x")});
  asked_again.set_value();
  const auto r = result_of(std::move(again));
  EXPECT_EQ(r.what, status::ok) << r.text;
}

TEST(zookeeper_ensemble_absence, of_a_server_that_refuses_the_connection_is_told_at_once) {
  const client c({{.host = "127.0.0.1", .port = 1, .path = {}}}, 10s);
  const auto began = clock::now();
  EXPECT_EQ(result_of(c.send({get("/t/x")})).what, status::unavailable);
  EXPECT_LT(clock::now() - began, 8s) << "node_timeout is 10 s";
}

TEST(zookeeper_ensemble_absence, is_no_greeting_of_an_older_kind) {
  lives server({[](const auto&, line& l) {
    l.greet(false);
    l.show_store(l.asked_for_store());
    while (const auto r = l.next()) l.answer(*r, node_of("data"));
  }});
  const client c({server.address()}, 10s);
  const auto r = result_of(c.send({get("/t/x")}));
  EXPECT_EQ(r.what, status::ok) << r.text;
}

TEST(zookeeper_ensemble_absence, is_not_told_before_every_server_was_tried) {
  lives slow({[](const auto& c, line& l) {
    std::this_thread::sleep_for(500ms);
    serve(c, l);
  }});
  const io::node_address nobody{.host = "127.0.0.1", .port = 1, .path = {}};
  const io::node_address nobody_either{.host = "127.0.0.1", .port = 2, .path = {}};
  for (int round = 0; round < 3; ++round) {  // They are tried in any order.
    const client c({nobody, nobody_either, slow.address()}, 10s);
    const auto r = result_of(c.send({get("/t/x")}));
    EXPECT_EQ(r.what, status::ok) << r.text;
  }
}

// ---- the store's nodes ----

TEST(zookeeper_ensemble_store, nothing_is_sent_before_it_is_known_to_be_there) {
  std::promise<void> looked;
  std::promise<void> waits;
  lives server({[&](const auto&, line& l) {
    l.greet();
    const auto look = l.asked_for_store();
    looked.set_value();
    waits.get_future().wait_for(10s);
    EXPECT_FALSE(l.has_more());
    l.show_store(look);
    while (const auto r = l.next()) l.answer(*r, node_of("data"));
  }});
  const client c({server.address()}, 10s);
  EXPECT_EQ(looked.get_future().wait_for(10s), std::future_status::ready);
  auto waiting = c.send({get("/t/x")});
  waits.set_value();
  const auto r = result_of(std::move(waiting));
  EXPECT_EQ(r.what, status::ok) << r.text;
}

TEST(zookeeper_ensemble_store, a_refusal_is_told_and_who_asks_again_has_it_looked_for_again) {
  lives server({[&](const auto&, line& l) {
                  l.greet();
                  const auto look = l.asked_for_store();
                  if (look.size() == 3) {
                    l.answer(look[0], bytes_of(0, 4));
                    l.answer(look[1], {}, not_allowed);
                    l.answer(look[2], {}, not_allowed);
                  }
                  l.show_store(l.asked_for_store());
                  l.answer_next(node_of("data"));
                  l.next();
                },
                serve_on});
  const client c({server.address()}, 10s);
  const auto refused = result_of(c.send({get("/t/x")}));
  EXPECT_EQ(refused.what, status::unavailable);
  EXPECT_TRUE(refused.needs_operator) << refused.text;
  EXPECT_NE(c.trouble().find("belong to a user"), std::string::npos) << c.trouble();
  const auto r = result_of(c.send({get("/t/x")}));
  EXPECT_EQ(r.what, status::ok) << r.text;
  EXPECT_EQ(c.trouble(), "");
  const auto lost = result_of(c.send({create("/t/x")}));
  EXPECT_EQ(lost.what, status::unknown);
  EXPECT_EQ(lost.text.find("belong to a user"), std::string::npos) << lost.text;
}

TEST(zookeeper_ensemble_store, what_a_server_does_not_do_now_it_is_asked_again) {
  constexpr std::int32_t throttled = -127;
  lives server({[](const auto&, line& l) {
    l.open();
    l.answer_next({}, throttled);
    l.answer_next({}, throttled);
    while (const auto r = l.next()) l.answer(*r, node_of("data"));
  }});
  const client c({server.address()}, 10s);
  const auto r = result_of(c.send({create("/t/x")}));
  EXPECT_EQ(r.what, status::ok) << r.text;
}

TEST(zookeeper_ensemble_store, a_read_that_is_refused_for_want_of_rights_is_not_sent_again) {
  std::promise<std::vector<std::uint32_t>> asked;
  lives server({[&](const auto&, line& l) {
    l.open();
    l.answer_next({}, not_allowed);
    asked.set_value(l.all_asked());
  }});
  {
    const client c({server.address()}, 10s);
    const auto r = result_of(c.send({get("/t/x")}, repeat::always));
    EXPECT_EQ(r.what, status::unavailable);
    EXPECT_TRUE(r.needs_operator) << r.text;
  }
  EXPECT_EQ(asked.get_future().get(), std::vector<std::uint32_t>());
}

// ---- the end ----

TEST(zookeeper_ensemble_end, whatever_is_under_way_or_waits_is_answered_at_once) {
  std::promise<void> asked;
  lives server({[&](const auto&, line& l) {
    l.open();
    l.next();
    l.next();
    asked.set_value();
    l.all_asked();
  }});
  const client c({server.address()}, 60s);
  auto write = c.send({create("/t/x")});
  auto read = c.send({get("/t/x")}, repeat::always);
  EXPECT_EQ(asked.get_future().wait_for(10s), std::future_status::ready);
  c.close();
  EXPECT_EQ(result_of(std::move(write)).what, status::unknown);
  EXPECT_EQ(result_of(std::move(read)).what, status::unavailable) << "it is not sent again";

  lives silent({[](const auto&, line& l) { l.all_asked(); }});
  const client other({silent.address()}, 60s);
  auto waits = other.send({create("/t/x")});
  other.close();
  EXPECT_EQ(result_of(std::move(waits)).what, status::unavailable);
}

TEST(zookeeper_ensemble_end, may_come_before_there_is_a_connection) {
  for (int round = 0; round < 10; ++round) {
    const client c({{.host = "127.0.0.1", .port = 1, .path = {}}}, node_timeout);
    c.close();
  }
}

}  // namespace
}  // namespace holdfast::engines::zookeeper
