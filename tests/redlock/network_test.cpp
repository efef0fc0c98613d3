#include "engines/redlock/keys.hpp"
#include "engines/redlock/scripts.hpp"
#include "tests/process/child.hpp"
#include "tests/redlock/contest.hpp"
#include "tests/redlock/far_nodes.hpp"
#include "tests/redlock/five_nodes.hpp"
#include "tests/succeeded.hpp"

#include <holdfast/store.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::redlock_tests {

using process::eventually;
using testing::IsEmpty;

namespace {

/// What may follow a cut: held and released, or neither and nothing is left.
void acquire_and_release(session& s, five_nodes& nodes) {
  const auto began = clock::now();
  if (auto l = s.try_acquire(lock_name("a"))) {
    EXPECT_TRUE(succeeded(l->check()));
    const auto r = std::move(*l).release();
    EXPECT_TRUE(r || r.error() == errc::outcome_unknown);
  }
  EXPECT_LT(clock::now() - began, 10s);
  EXPECT_TRUE(nodes.comes_to("a", 0, 10s));
}

/// So soon clients see where a name leads: they connect anew when their connection is cut.
void lead(far_nodes& far, std::size_t node, std::size_t to_server_of) {
  far.links[node]->lead_to(far.nodes[to_server_of].port());
  far.links[node]->cut_after(0);
}

/// Fault matrix: a node's name leads to another node's server for a moment | the node is out
/// meanwhile, and votes again for the clients that live
TEST(redlock_names, a_name_that_led_elsewhere_for_a_moment_costs_no_node) {
  far_nodes far(3);
  const std::string query = "ttl=1s&max_ttl=1s";
  const session s = far.nodes.open(query);
  const std::vector<std::string> nonce{"HGET", "holdfast:node", "nonce"};
  const std::string before = far.nodes[1].command(nonce).text;
  lead(far, 1, 0);
  ASSERT_TRUE(eventually([&] {
    return far.nodes.look(query).nodes[1].standing.find("is the same server as") !=
           std::string::npos;
  }));
  // As where nobody had asked it for a while before.
  far.nodes[1].command({"HINCRBY", "holdfast:node", "last_time", "-3000000"});
  far.links[1]->lead_to(far.nodes[1].port());
  EXPECT_TRUE(far.nodes.votes_come_to(3, query));
  EXPECT_EQ(far.nodes[1].command(nonce).text, before) << "its clock did not step";
}

/// Fault matrix: two names exchange their servers | both nodes are out until no grant can count
/// twice, and vote again for the clients that live
TEST(redlock_names, names_that_exchange_their_servers_vote_again) {
  far_nodes far(5);
  const std::string query = "ttl=1s&max_ttl=1s";
  const session s = far.nodes.open(query);
  lead(far, 0, 1);
  lead(far, 1, 0);
  ASSERT_TRUE(far.nodes.votes_come_to(3, query));
  EXPECT_TRUE(far.nodes.votes_come_to(5, query));
}

class redlock_cut : public testing::TestWithParam<std::string> {};

/// Fault matrix: connections of a majority cut at every byte of the replies of an acquire and a
/// release | nothing is left behind; the next acquire works
TEST_P(redlock_cut, a_reply_cut_at_any_byte_leaves_nothing_behind) {
  far_nodes far(3);
  const std::string query = "ttl=1s&max_ttl=1s" + GetParam();
  session s = far.nodes.open(query);
  int bytes = 0;
  // On a busy machine its answers may come after those of the others.
  ASSERT_TRUE(eventually([&] {
    const auto from = far.links[0]->reply_bytes();
    acquire_and_release(s, far.nodes);
    bytes = static_cast<int>(far.links[0]->reply_bytes() - from);
    return bytes > 4;
  }));
  const int tries = process::rounds(10, bytes);
  for (int k = 0; k < tries; ++k) {
    for (std::size_t i = 0; i < 2; ++i) far.links[i]->cut_after(k * bytes / tries);
    acquire_and_release(s, far.nodes);
    EXPECT_TRUE(eventually([&] {
      if (s.remaining() == duration::zero()) {
        auto again = open(far.nodes.url(query));
        if (!again) return false;
        s = std::move(*again);
      }
      auto l = s.try_acquire(lock_name("b"));
      return l && std::move(*l).release();
    })) << "cut after "
        << k * bytes / tries;
  }
  EXPECT_TRUE(far.nodes.comes_to("b", 0, 10s));
}

INSTANTIATE_TEST_SUITE_P(tokens, redlock_cut,
                         testing::Values(std::string(),
                                         std::string("&tokens=off&assume_fresh=yes")));

/// Fault matrix: connections cut at random bytes during contention | exclusion kept, tokens grow
TEST(redlock_network, cuts_during_contention_break_nothing) {
  far_nodes far(5);
  contest c(far.nodes, {.query = "ttl=1s&max_ttl=1s"});
  for (int k = 0; k < process::rounds(20, 300); ++k) {
    far.links[static_cast<std::size_t>(k) % 5]->cut_after(37 * k % 400);
    EXPECT_TRUE(c.more(3)) << c.troubles();
  }
  c.end();
  EXPECT_THAT(c.violations(), IsEmpty());
  EXPECT_TRUE(far.nodes.comes_to("contended", 0, 3s));
}

/// Fault matrix: replies of 2 of 5 nodes later than the node timeout | every acquire succeeds
TEST(redlock_network, a_minority_later_than_the_node_timeout_fails_nothing) {
  far_nodes far(5, {}, 60s);
  session s = far.nodes.open("ttl=40s&node_timeout=1s");
  for (std::size_t i = 0; i < 2; ++i) far.links[i]->delay(1500ms);
  for (int k = 0; k < 10; ++k) {
    auto l = s.try_acquire(lock_name("a" + std::to_string(k)));
    ASSERT_TRUE(l) << l.error().message();
    EXPECT_TRUE(succeeded(std::move(*l).release()));
  }
  EXPECT_TRUE(far.nodes.comes_to("a9", 0)) << "it is not left to its ttl";
}

/// Fault matrix: a near node refuses, a far one answers after the others were asked | a session
/// opens on the nodes that take it
TEST(redlock_network, a_near_node_that_refuses_does_not_hide_a_far_one_that_does_not) {
  far_nodes far(3, {}, 5s);
  far.links[2]->delay(60ms);
  far.nodes[0].command({"CONFIG", "SET", "maxmemory", "1"});
  session s = far.nodes.open("ttl=5s&max_ttl=5s&node_timeout=2s");
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  EXPECT_TRUE(succeeded(std::move(*l).release()));
}

/// Fault matrix: replies of all nodes later than the node timeout | acquires fail, nothing is left
TEST(redlock_network, all_later_than_the_node_timeout_leave_nothing_behind) {
  far_nodes far(5, {}, 60s);
  session s = far.nodes.open("ttl=40s&node_timeout=500ms");
  for (const auto& l : far.links) l->delay(1500ms);
  EXPECT_EQ(s.try_acquire(lock_name("a")).error(), errc::unavailable);
  EXPECT_TRUE(far.nodes.comes_to("a", 0)) << "nothing is left to its ttl";
  for (const auto& l : far.links) l->delay(0ms);
  EXPECT_TRUE(eventually([&] {
    auto l = s.try_acquire(lock_name("a"));
    return l.has_value();
  }));
}

/// Fault matrix: a node that has missed grants, and replies of all after more than half of the node
/// timeout | a free lock is granted at the first try, though its token takes a second round trip
TEST(redlock_network, a_token_that_takes_a_second_round_trip_has_the_time_for_it) {
  far_nodes far(3, {}, 60s);
  session s = far.nodes.open("ttl=40s&node_timeout=1s");
  far.nodes[1].command({"HINCRBY", "holdfast:node", "floor", "1000"});
  far.nodes.kill(2);
  for (const auto& p : far.links) p->delay(600ms);
  const auto began = clock::now();
  auto l = s.try_acquire(lock_name("a"));
  EXPECT_TRUE(l) << l.error().message();
  EXPECT_GE(clock::now() - began, 1200ms);
  for (const auto& p : far.links) p->delay(0ms);
}

/// Fault matrix: replies to a release a little later than the node timeout | it is told as done
TEST(redlock_network, a_release_that_is_confirmed_late_is_not_told_as_undone) {
  far_nodes far(3, {}, 60s);
  session s = far.nodes.open("ttl=40s&node_timeout=20ms");
  // A pause of this machine may make any of them later.
  EXPECT_TRUE(eventually([&] {
    auto l = s.acquire(lock_name("a"), {.wait = 10s});
    for (const auto& p : far.links) p->delay(60ms);
    const bool told = l && std::move(*l).release();
    for (const auto& p : far.links) p->delay(0ms);
    return told;
  }));
}

/// Fault matrix: replies of all nodes later than the ttl | the holder is told in time; nothing is
/// granted on answers from before
TEST(redlock_network, answers_later_than_the_ttl_count_for_nothing) {
  far_nodes far(5);
  const std::string query = "ttl=1s&max_ttl=1s&node_timeout=400ms";
  session s = far.nodes.open(query);
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  for (const auto& p : far.links) p->delay(1800ms);
  const auto until = clock::now() + 1s;
  // The time is from before each look: a pause behind one is not the lock's.
  for (auto looked = clock::now(); l->check(); looked = clock::now()) {
    ASSERT_LT(looked, until + 50ms);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_TRUE(far.nodes.comes_to("a", 0));
  std::this_thread::sleep_for(2s);
  EXPECT_EQ(l->check().error(), errc::lost);
  EXPECT_EQ(far.nodes.count("a"), 0U);
  for (const auto& p : far.links) p->delay(0ms);
  // What was held back still drains.
  EXPECT_TRUE(eventually([&] {
    auto fresh = holdfast::open(far.nodes.url(query, 1));
    return fresh && fresh->acquire(lock_name("a"), {.wait = 5s}).has_value();
  }));
}

/// Fault matrix: a node loses its state, is near, and the others are far, under the heartbeats of
/// forty sessions | it rejoins after its wait, and the epoch moves once
TEST(redlock_network, a_near_node_rejoins_under_many_heartbeats) {
  far_nodes far(3);
  for (std::size_t i = 1; i < 3; ++i) far.links[i]->delay(i * 40ms);
  auto of = store::open(far.nodes.url("ttl=1s&max_ttl=1s&node_timeout=500ms")).value();
  std::vector<session> all;
  for (int i = 0; i < 40; ++i) all.push_back(of.open_session().value());
  const auto epoch_of = [&](std::size_t i) {
    const auto told = far.nodes[i].command({"HGET", "holdfast:node", "epoch"}).text;
    return told.empty() ? 0 : std::stoull(told);
  };
  const auto before = epoch_of(1);
  far.nodes[0].command({"FLUSHALL"});
  EXPECT_TRUE(eventually([&] { return epoch_of(0) > before; }, 10s)) << "it begins again and again";
  EXPECT_LE(epoch_of(1) - before, 3U) << "each is refused to all who ask in the one before";
}

/// Fault matrix: a node that syncs every write is started again with its clock set back, and the
/// others are far, under the heartbeats of forty sessions | it votes, and the epoch moves once
TEST(redlock_network, a_node_that_comes_back_with_its_clock_set_back_rejoins_under_heartbeats) {
  far_nodes far(3, {.append_only = true, .fsync = "always"});
  ASSERT_TRUE(far.nodes.votes_come_to(3, "ttl=1s&max_ttl=1s"));
  // To the node it is as if its clock had been an hour ahead.
  far.nodes[0].command({"HINCRBY", "holdfast:node", "last_time", "3600000000"});
  far.nodes.kill(0);
  for (std::size_t i = 1; i < 3; ++i) far.links[i]->delay(i * 40ms);
  auto of = store::open(far.nodes.url("ttl=1s&max_ttl=1s&node_timeout=500ms")).value();
  std::vector<session> all;
  for (int i = 0; i < 40; ++i) all.push_back(of.open_session().value());
  const auto epoch_of = [&](std::size_t i) {
    return std::stoull(far.nodes[i].command({"HGET", "holdfast:node", "epoch"}).text);
  };
  const auto before = epoch_of(1);
  far.nodes.restart(0, server::data::keep);
  EXPECT_TRUE(eventually([&] { return epoch_of(0) > before; }, 10s)) << "it begins again and again";
  EXPECT_LE(epoch_of(1) - before, 3U) << "each is refused to all who ask in the one before";
}

/// Fault matrix: a lock is granted by the near majority, and the client has yet to look at the far
/// nodes | all have it long before its first renewal, and it outlives a near node
TEST(redlock_network, a_lock_that_near_nodes_granted_is_soon_on_the_far_ones) {
  far_nodes far(5, {}, 30s);
  for (std::size_t i = 3; i < 5; ++i) far.links[i]->delay(150ms);
  session s = far.nodes.open("ttl=30s&max_ttl=30s");
  const lock l = s.try_acquire(lock_name("b")).value();
  EXPECT_TRUE(far.nodes.comes_to("b", 5, 5s)) << "a third of the ttl is 10 s";
  EXPECT_TRUE(far.nodes.comes_to(engines::redlock::session_key(s.id().str()), 5, 5s));
  far.nodes.kill(0);
  EXPECT_TRUE(succeeded(l.check()));
}

/// Only with a node that is too slow to vote in time there are enough to seal.
const std::string soon_out = "ttl=1s&max_ttl=1s&node_timeout=30ms";

/// Fault matrix: a node restarts empty while two of five answer later than a node timeout | it
/// votes again after max_ttl
TEST(redlock_network, a_node_comes_back_though_others_answer_late) {
  far_nodes far(5);
  for (const std::size_t i : {3U, 4U}) far.links[i]->delay(150ms);
  session s = far.nodes.open(soon_out);
  ASSERT_TRUE(eventually([&] { return s.try_acquire(lock_name("a")).has_value(); }));
  far.nodes.restart(0, server::data::wipe);
  const auto epoch = [&] { return far.nodes[0].command({"HGET", "holdfast:node", "epoch"}).text; };
  ASSERT_TRUE(eventually([&] { return epoch() == "0"; }));
  EXPECT_TRUE(eventually([&] { return epoch() != "0"; }));
  EXPECT_TRUE(eventually([&] {
    auto next = open(far.nodes.url(soon_out));
    return next && next->try_acquire(lock_name("b")).has_value();
  }));
}

/// Fault matrix: a node that syncs every write restarts while one of three answers later than a
/// node timeout | it votes again at once
TEST(redlock_network, a_durable_node_comes_back_though_another_answers_late) {
  server::options synced;
  synced.append_only = true;
  synced.fsync = "always";
  far_nodes far(3, synced, 60s);
  far.links[2]->delay(150ms);
  const std::string query = "ttl=6s&node_timeout=30ms";
  session s = far.nodes.open(query);
  auto l = s.try_acquire(lock_name("a"));
  // A busy machine does not always answer in so short a time.
  ASSERT_TRUE(eventually([&] {
    if (!l) l = s.try_acquire(lock_name("a"));
    return l.has_value();
  })) << l.error().message();
  ASSERT_TRUE(far.nodes.comes_to("a", 3)) << "the client has looked at all of them";
  far.nodes.restart(0, server::data::keep);
  EXPECT_TRUE(eventually([&] { return s.try_acquire(lock_name("b")).has_value(); }));
}

/// Fault matrix: a session is closed while a node that lost its record and its scripts is sent them
/// again | no record stays behind
TEST(redlock_network, a_record_that_is_written_again_does_not_outlive_a_close) {
  using namespace engines::redlock;
  five_nodes nodes(3);
  process::proxy link(nodes[0].port());
  nodes.reach(0, link.address());
  nodes.init();
  session s = nodes.open("ttl=6s");
  const std::string key = session_key(s.id().str());
  ASSERT_TRUE(nodes.comes_to(key, 3));
  link.delay(500ms);
  // It knows every script but the one that writes the record.
  auto c = nodes[0].connect();
  c.command({"MULTI"});
  c.command({"CONFIG", "RESETSTAT"});
  c.command({"SCRIPT", "FLUSH"});
  for (const script* known : scripts::all) {
    if (known != &scripts::open) c.command({"SCRIPT", "LOAD", std::string(known->text)});
  }
  c.command({"DEL", key});
  c.command({"EXEC"});
  ASSERT_TRUE(eventually([&] {
    return c.command({"INFO", "errorstats"}).text.find("NOSCRIPT") != std::string::npos;
  }));
  EXPECT_TRUE(succeeded(s.close()));
  // The answer that asks for the script comes behind the close.
  EXPECT_FALSE(eventually([&] { return nodes.count(key) != 0; }, 1500ms));
}

/// Fault matrix: a session with a longer ttl is opened when the sessions have been looked through
/// and a shorter max_ttl is not written yet | who asked for that is told
TEST(redlock_network, a_session_that_came_before_a_shorter_max_ttl_was_written_is_told) {
  using namespace engines::redlock;
  far_nodes far(3, {}, 60s);
  auto of = store::open(far.nodes.url("node_timeout=3s")).value();
  const session short_lived = of.open_session({.ttl = 6s}).value();
  for (auto& link : far.links) link->delay(600ms);
  auto c = far.nodes[2].connect();
  c.command({"MONITOR"});
  std::promise<result<redlock::overview>> told;
  std::thread operators(
      [&] { told.set_value(redlock::recover(far.nodes.url("node_timeout=3s"), {.max_ttl = 6s})); });
  // The answer to the last page is on its way.
  while (const auto said = c.read(10s)) {
    if (said->text.find(scripts::list.sha1) != std::string::npos) break;
  }
  std::this_thread::sleep_for(20ms);
  const auto came = of.open_session({.ttl = 30s});
  operators.join();
  ASSERT_TRUE(came) << came.error().message();
  const auto done = told.get_future().get();
  ASSERT_FALSE(done) << "a node that restarts empty waits for 6 s alone";
  EXPECT_EQ(done.error(), errc::busy);
  EXPECT_THAT(done.error().message(),
              testing::HasSubstr("1 session that came meanwhile has a ttl above 6s, up to 30s"));
}

/// Fault matrix: the connections to all nodes are lost without a word | others are made before a
/// ttl of some seconds is over
TEST(redlock_network, connections_that_are_lost_without_a_word_cost_no_lock) {
  far_nodes far(3, {}, 60s);
  session s = far.nodes.open("ttl=7s&node_timeout=300ms");
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  for (const auto& p : far.links) p->lose_all();
  std::this_thread::sleep_for(9s);
  EXPECT_TRUE(succeeded(l->check()));
  EXPECT_TRUE(succeeded(std::move(*l).release()));
}

/// Fault matrix: all replies of a node come a second late | it keeps its connection
TEST(redlock_network, a_node_that_is_only_slow_keeps_its_connection) {
  far_nodes far(3, {}, 60s);
  session s = far.nodes.open("ttl=5s&node_timeout=500ms");
  const auto made = [&] {
    const std::string stats = far.nodes[0].command({"INFO", "stats"}).text;
    const auto at = stats.find("total_connections_received");
    return stats.substr(at, stats.find('\r', at) - at);
  };
  const auto before = made();
  far.links[0]->delay(1s);
  for (int i = 0; i < 12; ++i) {
    auto l = s.acquire(lock_name("a"), {.wait = 5s});
    ASSERT_TRUE(l) << l.error().message();
    std::this_thread::sleep_for(500ms);
  }
  EXPECT_EQ(made(), before);
}

/// Fault matrix: all nodes black-holed | the holder is told in time; acquires end within their
/// bounds; all works again afterwards
TEST(redlock_network, with_all_nodes_black_holed_everything_ends) {
  far_nodes far(5);
  const std::string query = "ttl=1s&max_ttl=1s&node_timeout=500ms";
  session s = far.nodes.open(query);
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  for (const auto& p : far.links) p->swallow(true);
  const auto began = clock::now();
  EXPECT_FALSE(s.try_acquire(lock_name("b")).has_value());
  EXPECT_LT(clock::now() - began, 10s);
  EXPECT_FALSE(s.acquire(lock_name("b"), {.wait = 300ms}).has_value());
  EXPECT_FALSE(holdfast::open(far.nodes.url(query, 1)));
  EXPECT_EQ(l->check().error(), errc::lost);
  EXPECT_FALSE(std::move(*l).release());
  (void)s.close().has_value();
  EXPECT_LT(clock::now() - began, 40s);
  EXPECT_TRUE(far.nodes.comes_to("a", 0, 10s));
  for (const auto& p : far.links) p->swallow(false);
  std::optional<session> fresh;
  EXPECT_TRUE(eventually([&] {
    auto o = holdfast::open(far.nodes.url(query, 2));
    if (o) fresh = std::move(*o);
    return fresh.has_value();
  }));
  EXPECT_TRUE(succeeded(fresh->acquire(lock_name("a"), {.wait = 10s})));
}

}  // namespace

}  // namespace holdfast::redlock_tests
