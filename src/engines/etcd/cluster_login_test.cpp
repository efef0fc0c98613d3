#include "engines/etcd/refusal.hpp"
#include "engines/etcd/scripted_server_fixture.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

/// What a client is told of servers at which it cannot log in, or whose store it may not use.

namespace holdfast::engines::etcd {
namespace {

using namespace std::chrono_literals;

constexpr const char* wrong_password =
    "etcdserver: authentication failed, invalid user ID or password";

/// What the first transaction of a client ends with, and after which time.
struct first_reply {
  core::reply got{};
  duration after{};
};
/// `left`: opened by each server once the client has gone.
first_reply first_reply_of(std::vector<io::node_address> servers, std::vector<gate>& left) {
  const auto began = clock::now();
  const client c(std::move(servers));
  auto got = reply_to_one(*c.loop, c.servers);
  const auto after = clock::now() - began;
  c.servers->close();
  for (const auto& g : left) EXPECT_TRUE(g.wait());
  return {.got = std::move(got), .after = after};
}

TEST(etcd_cluster_login, what_every_server_refuses_for_good_is_told_at_once) {
  std::vector<gate> left(2);
  const auto refuse_and_open = [](gate& g) {
    return [&g](const io::peer::client& c, int) {
      line(c).fail_all("3", wrong_password);
      g.open();
    };
  };
  io::peer one(refuse_and_open(left[0]));
  io::peer two(refuse_and_open(left[1]));
  const auto [got, after] = first_reply_of({one.address(), two.address()}, left);
  EXPECT_EQ(got.what, core::status::unavailable);
  EXPECT_TRUE(got.needs_operator) << got.text;
  EXPECT_NE(got.text.find("check user and password"), std::string::npos) << got.text;
  EXPECT_LT(after, 4s) << "node_timeout is 8 s";
}

/// Of one server, which answers `talk` and then nothing any more.
void expect_told_at_once(const std::function<void(line&)>& talk, const char* part) {
  std::vector<gate> left(1);
  io::peer server([&](const io::peer::client& c, int) {
    line l(c);
    talk(l);
    l.wait_for_the_end();
    left[0].open();
  });
  const auto [got, after] = first_reply_of({server.address()}, left);
  EXPECT_EQ(got.what, core::status::unavailable);
  EXPECT_TRUE(got.needs_operator) << got.text;
  EXPECT_NE(got.text.find(part), std::string::npos) << got.text;
  EXPECT_LT(after, 4s) << "node_timeout is 8 s";
}

TEST(etcd_cluster_login, a_version_that_is_not_supported_is_told_at_once) {
  expect_told_at_once(
      [](line& l) {
        l.answer_next(token_reply());
        l.answer_next(status_reply(ours, "3.3.27"));
      },
      "3.4 and later");
}

TEST(etcd_cluster_login, an_epoch_that_is_not_ours_or_cannot_be_written_is_told_at_once) {
  expect_told_at_once(
      [](line& l) {
        l.log_in();
        l.answer_next(epoch_reply_of("somebody else's"));
      },
      "use another prefix");
  expect_told_at_once(
      [](line& l) {
        l.log_in();
        l.answer_next(
            epoch_reply({.number = epoch_max, .cluster = another, .store = first_epoch.store}));
      },
      "cannot grow");
  expect_told_at_once(
      [](line& l) {
        l.log_in();
        l.fail(l.request(), "8", "etcdserver: mvcc: database space exceeded");
      },
      "NOSPACE");
}

TEST(etcd_cluster_login, one_server_that_refuses_it_is_not_believed_before_the_others) {
  gate refused;
  std::vector<gate> left(2);
  io::peer lagging([&](const io::peer::client& c, int) {
    line l(c);
    l.fail(l.request(), "3", wrong_password);
    if (l.has_taken_all()) refused.open();
    l.fail_all("3", wrong_password);
    left[0].open();
  });
  io::peer other([&](const io::peer::client& c, int) {
    line l(c);
    const auto login = l.request();
    EXPECT_TRUE(refused.wait());
    // Long enough to be told, if it were.
    std::this_thread::sleep_for(300ms);
    l.answer(login, token_reply());
    l.answer_next(status_reply());
    l.answer_next(epoch_reply());
    l.answer_next(txn_reply(ours));
    l.wait_for_the_end();
    left[1].open();
  });
  const auto got = first_reply_of({lagging.address(), other.address()}, left).got;
  EXPECT_EQ(got.what, core::status::ok) << got.text;
}

TEST(etcd_cluster_login, without_an_answer_says_that_it_is_slow_and_blames_no_password) {
  const auto text = [](const io::grpc_outcome& o) {
    return login_trouble(o, {.user = "me", .node_timeout = 2s});
  };
  using kind = io::grpc_outcome::kind;
  for (const auto& late :
       {text({.what = kind::unknown, .text = "no answer before the deadline"}),
        text({.what = kind::answered, .status = 4, .text = "context deadline exceeded"})}) {
    EXPECT_NE(late.find("node_timeout, which is 2s"), std::string::npos) << late;
    EXPECT_EQ(late.find("check user"), std::string::npos) << late;
  }
  const auto refused = text({.what = kind::answered, .status = 3, .text = wrong_password});
  EXPECT_NE(refused.find("check user"), std::string::npos) << refused;
  EXPECT_EQ(refused.find("node_timeout"), std::string::npos) << refused;
}

// A person may put it right before locks are lost.
TEST(etcd_cluster_login, a_store_that_was_used_waits_for_a_login_that_is_refused_meanwhile) {
  known_server server([](line& l) {
    l.fail(l.request(), "16", "etcdserver: invalid auth token");
    l.fail(l.request(), "3", wrong_password);
    // Due a second later.
    l.log_in();
    l.answer_next(epoch_reply());
    l.answer_next(txn_reply(ours));
  });
  const client c({server.peer.address()});
  EXPECT_TRUE(server.known.wait());
  const auto got = reply_to_one(*c.loop, c.servers);
  EXPECT_EQ(got.what, core::status::ok) << got.text;
  c.servers->close();
  EXPECT_TRUE(server.left.wait());
}

}  // namespace
}  // namespace holdfast::engines::etcd
