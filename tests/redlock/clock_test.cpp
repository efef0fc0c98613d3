#include "tests/process/child.hpp"
#include "tests/process/proxy.hpp"
#include "tests/redis_server/wall_clock.hpp"
#include "tests/redlock/contest.hpp"
#include "tests/redlock/five_nodes.hpp"
#include "tests/succeeded.hpp"

#include <holdfast/store.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace holdfast::redlock_tests {

using testing::IsEmpty;

namespace {

/// Servers whose wall clocks can be stepped.
class redlock_clocks : public testing::Test {
 protected:
  redlock_clocks() : nodes(all()) {}

  std::vector<server::options> all() {
    std::vector<server::options> each(clocks.size());
    for (std::size_t i = 0; i < each.size(); ++i) each[i].environment = clocks[i].environment();
    return each;
  }

  static constexpr const char* short_ttl = "ttl=1s&max_ttl=1s";
  std::array<redis_tests::wall_clock, 5> clocks;
  five_nodes nodes;
};

class redlock_clock : public redlock_clocks, public testing::WithParamInterface<const char*> {
 protected:
  std::string query() const { return std::string(short_ttl) + GetParam(); }
  bool tokens() const { return std::string(GetParam()).empty(); }
};

/// Fault matrix: wall clocks of 2 of 5 nodes step by +1 h or -1 h and back | no two hold; the nodes
/// are put out and come back
TEST_P(redlock_clock, steps_of_a_minority_break_nothing) {
  if (tokens()) nodes.init(1s);
  contest c(nodes, {.query = query(), .tokens = tokens()});
  EXPECT_TRUE(c.more(10)) << c.troubles();
  for (const auto by : {1h, -1h, 0h}) {
    const auto step = [&] {
      clocks[0].step(by);
      clocks[1].step(-by);
    };
    // SET tells nobody TIME: who holds on a bare majority then is not protected.
    tokens() ? step() : c.while_nobody_asks(step);
    EXPECT_TRUE(c.more(15)) << c.troubles();
    std::this_thread::sleep_for(1500ms);
  }
  EXPECT_TRUE(c.more(10)) << c.troubles();
  c.end();
  EXPECT_THAT(c.violations(), IsEmpty());
  EXPECT_TRUE(nodes.comes_to("contended", 0));
  EXPECT_TRUE(nodes.votes_come_to(5, query()));
}

/// Fault matrix: the wall clocks of two nodes step by +1 h under a held lock | it stays held, and
/// nobody else gets it
TEST_P(redlock_clock, a_lock_on_all_nodes_survives_the_steps_of_two) {
  if (tokens()) nodes.init(4s);
  const std::string query = std::string("ttl=4s&max_ttl=4s") + GetParam();
  session s = nodes.open(query);
  session rival = nodes.open(query, 1);
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  ASSERT_TRUE(nodes.comes_to("a", 5));
  clocks[0].step(1h);
  clocks[1].step(1h);
  EXPECT_FALSE(rival.try_acquire(lock_name("a")).has_value());
  EXPECT_FALSE(nodes.open(query, 2).try_acquire(lock_name("a")).has_value());
  EXPECT_TRUE(nodes.votes_come_to(5, query));
  EXPECT_TRUE(nodes.comes_to("a", 5));
  EXPECT_TRUE(succeeded(l->check()));
  EXPECT_LE(nodes.longest("a"), 4s);
}

/// Fault matrix: the wall clock of one node steps by +1 h under a lock on a bare majority | who has
/// watched the node does not get it
TEST_F(redlock_clocks, a_node_that_stepped_grants_nothing_to_who_watched) {
  nodes.init(30s);
  const std::string query = "ttl=30s&max_ttl=30s";
  session s = nodes.open(query);
  session rival = nodes.open(query, 1);
  for (std::size_t i = 3; i < 5; ++i) nodes[i].command({"SET", "a", "another's"});
  const auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  ASSERT_TRUE(nodes.comes_to("a", 5));
  for (std::size_t i = 3; i < 5; ++i) nodes[i].command({"DEL", "a"});
  ASSERT_TRUE(succeeded(rival.try_acquire(lock_name("b"))));
  clocks[0].step(1h);
  const auto second = rival.try_acquire(lock_name("a"));
  EXPECT_TRUE(succeeded(l->check()));
  EXPECT_FALSE(second);
}

/// Fault matrix: all wall clocks are set back by 1 h while no client is there | nothing is granted,
/// and status says why; set right again, all nodes vote
TEST_F(redlock_clocks, all_set_back_unseen_is_told) {
  nodes.init(1s);
  {
    session s = nodes.open(short_ttl);
    ASSERT_TRUE(succeeded(s.try_acquire(lock_name("a"))));
  }
  for (const auto& c : clocks) c.step(-1h);
  const auto status = nodes.look(short_ttl);
  EXPECT_EQ(status.votes, 0U);
  EXPECT_THAT(status.advice, testing::HasSubstr("behind the newest time"));
  EXPECT_THAT(status.advice, testing::HasSubstr("Set the clocks right"));
  const auto refused = open(nodes.url(short_ttl));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), testing::HasSubstr("behind the newest time"));
  for (const auto& c : clocks) c.step(0h);
  EXPECT_TRUE(nodes.votes_come_to(5, short_ttl));
  session s = nodes.open(short_ttl);
  EXPECT_TRUE(succeeded(s.try_acquire(lock_name("a"))));
}

/// Fault matrix: all wall clocks step by +1 h under the eyes of a client | nothing is granted for
/// max_ttl; then all nodes vote by themselves, and tokens have grown
TEST_F(redlock_clocks, all_that_step_vote_again_by_themselves) {
  nodes.init(4s);
  const std::string query = "ttl=4s&max_ttl=4s";
  session s = nodes.open(query);
  const auto before = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(before) << before.error().message();
  const auto began = clock::now();
  for (const auto& c : clocks) c.step(1h);
  ASSERT_TRUE(nodes.votes_come_to(0, query));
  EXPECT_THAT(nodes.look(query).advice, testing::HasSubstr("had its clock set"));
  ASSERT_TRUE(nodes.votes_come_to(5, query));
  EXPECT_GE(clock::now() - began, 4s);
  session later = nodes.open(query);
  const auto again = later.acquire(lock_name("a"), {.wait = 10s});
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_GT(again->token(), before->token());
}

/// Fault matrix: the clocks of 3 of 5 nodes step, and only commands follow that end at once | the
/// first one after max_ttl is granted its lock
TEST_F(redlock_clocks, a_majority_that_stepped_is_brought_back_by_whoever_comes_next) {
  nodes.init(2s);
  const std::string query = "ttl=2s&max_ttl=2s&node_timeout=500ms";
  ASSERT_TRUE(succeeded(nodes.open(query).try_acquire(lock_name("a"))));
  for (std::size_t i = 0; i < 3; ++i) {
    // What a client writes that sees the step, and then ends.
    const std::string epoch = nodes[i].command({"HGET", "holdfast:node", "epoch"}).text;
    nodes[i].command({"HSET", "holdfast:node", "kept_epoch", epoch, "epoch", "0", "nonce",
                      "step" + std::to_string(i)});
  }
  const auto early = open(nodes.url(query));
  ASSERT_FALSE(early);
  EXPECT_THAT(early.error().message(), testing::HasSubstr("had its clock set"));
  std::this_thread::sleep_for(2500ms);
  auto next = open(nodes.url(query));
  ASSERT_TRUE(next) << next.error().message();
  EXPECT_TRUE(succeeded(next->try_acquire(lock_name("a"))));
}

/// Fault matrix: the clocks of 3 of 5 nodes step, and an operator runs `recover` | a store that
/// stayed open is used again within seconds, and not when the wait of max_ttl is over
TEST_F(redlock_clocks, what_recover_wrote_for_nodes_that_stepped_is_seen_by_who_stayed_connected) {
  nodes.init(10min);
  const std::string query = "ttl=5s&max_ttl=10m";
  auto connected = store::open(nodes.url(query));
  ASSERT_TRUE(connected) << connected.error().message();
  ASSERT_TRUE(connected->open_session());
  for (std::size_t i = 0; i < 3; ++i) clocks[i].step(1h);
  std::string told;
  const auto waits = [&] {
    const auto refused = connected->open_session();
    told = refused ? "it was opened" : refused.error().message();
    return told.find("each had its clock set") != std::string::npos;
  };
  ASSERT_TRUE(process::eventually(waits, 60s)) << told;
  const auto done = redlock::recover(nodes.url(query, 1), {.max_ttl = 10min});
  ASSERT_TRUE(done) << done.error().message();
  const auto grants = [&] {
    auto s = connected->open_session();
    told = s ? "" : s.error().message();
    return s && s->try_acquire(lock_name("a")).has_value();
  };
  EXPECT_TRUE(process::eventually(grants, 60s)) << told;
}

/// Fault matrix: `recover --max-ttl` under three clients that only look on | none of them takes the
/// new records for a step of a clock
TEST_F(redlock_clocks, new_records_are_no_step_to_clients_that_look_on) {
  nodes.init(5s);
  const std::string query = "ttl=3s&max_ttl=5s";
  std::vector<session> clients;
  for (std::size_t first = 0; first < 3; ++first) {
    clients.push_back(nodes.open(query, first));
    // Each reads the clocks once a second, at another moment.
    std::this_thread::sleep_for(370ms);
  }
  std::this_thread::sleep_for(3s);
  const auto done = redlock::recover(nodes.url(query), {.max_ttl = 6s});
  ASSERT_TRUE(done) << done.error().message();
  const auto nonces = [this] {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      all.push_back(nodes[i].command({"HGET", "holdfast:node", "nonce"}).text);
    }
    return all;
  };
  const auto written = nonces();
  std::this_thread::sleep_for(6s);
  EXPECT_EQ(nonces(), written);
  EXPECT_TRUE(nodes.votes_come_to(5, query));
}

/// Fault matrix: the clock of one node steps under three clients | it votes again after max_ttl
TEST_F(redlock_clocks, a_step_that_many_clients_see_puts_the_node_out_once) {
  nodes.init(4s);
  const std::string query = "ttl=4s&max_ttl=4s";
  const session a = nodes.open(query);
  const session b = nodes.open(query, 1);
  const session c = nodes.open(query, 2);
  std::this_thread::sleep_for(1500ms);
  clocks[0].step(1h);
  ASSERT_TRUE(nodes.votes_come_to(4, query));
  const std::vector<std::string> nonce{"HGET", "holdfast:node", "nonce"};
  const std::string marked = nodes[0].command(nonce).text;
  EXPECT_TRUE(nodes.votes_come_to(5, query));
  EXPECT_EQ(nodes[0].command(nonce).text, marked) << "its loss was named once";
}

/// Fault matrix: a proxy carries a connection to another node, whose clock is another, and back |
/// the node is out meanwhile, and is not put out for a step of its clock
TEST_F(redlock_clocks, the_clock_that_a_proxy_leads_to_is_not_the_nodes) {
  clocks[0].step(1h);
  process::proxy link(nodes[1].port());
  nodes.reach(1, link.address());
  nodes.init(30s);
  // So long that nothing but the reading of clocks tells that another server answers.
  const std::string query = "ttl=30s&max_ttl=30s";
  const session s = nodes.open(query);
  const std::vector<std::string> nonce{"HGET", "holdfast:node", "nonce"};
  const std::string before = nodes[1].command(nonce).text;
  std::this_thread::sleep_for(1500ms);
  link.carry_to(nodes[0].port());
  ASSERT_TRUE(nodes.votes_come_to(4, query));
  link.carry_to(nodes[1].port());
  EXPECT_TRUE(nodes.votes_come_to(5, query));
  EXPECT_EQ(nodes[1].command(nonce).text, before);
}

INSTANTIATE_TEST_SUITE_P(tokens, redlock_clock,
                         testing::Values("", "&tokens=off&assume_fresh=yes"));

}  // namespace

}  // namespace holdfast::redlock_tests
