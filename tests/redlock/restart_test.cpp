#include "tests/process/child.hpp"
#include "tests/redlock/contest.hpp"
#include "tests/redlock/five_nodes.hpp"
#include "tests/succeeded.hpp"

#include <holdfast/store.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

namespace holdfast::redlock_tests {

using process::eventually;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

constexpr const char* with_tokens = "ttl=4s&max_ttl=4s";
constexpr const char* without_tokens = "ttl=2s&max_ttl=2s&tokens=off";

/// A try of a client with connections of its own.
result<lock> try_once(const five_nodes& nodes, const std::string& query, std::size_t first,
                      std::optional<session>& by) {
  auto opened = holdfast::open(nodes.url(query, first));
  if (!opened) return opened.error();
  by = std::move(*opened);
  return by->try_acquire(lock_name("a"));
}

class redlock_restart : public testing::TestWithParam<std::size_t> {};

/// Fault matrix: kill -9 and restart empty of 1 or 2 of 5 nodes | locks go on and tokens grow; the
/// nodes do not vote for max_ttl and rejoin
TEST_P(redlock_restart, a_minority_that_lost_its_state_waits_and_rejoins) {
  const std::size_t lost = GetParam();
  five_nodes nodes;
  nodes.init(4s);
  session s = nodes.open(with_tokens);
  auto kept = s.try_acquire(lock_name("kept"));
  ASSERT_TRUE(kept) << kept.error().message();
  contest c(nodes, {.query = with_tokens});
  EXPECT_TRUE(c.more(10)) << c.troubles();
  const auto began = clock::now();
  nodes.restart_empty(0, lost);
  EXPECT_TRUE(c.more(20)) << c.troubles();
  EXPECT_TRUE(nodes.votes_come_to(5 - lost, with_tokens));
  EXPECT_TRUE(nodes.votes_come_to(5, with_tokens));
  EXPECT_GT(clock::now() - began, 4s);
  EXPECT_TRUE(c.more(20)) << c.troubles();
  c.end();
  EXPECT_THAT(c.violations(), IsEmpty());
  EXPECT_TRUE(succeeded(kept->check()));
  redlock::overview seen;
  EXPECT_TRUE(process::eventually([&] {
    seen = nodes.look(with_tokens);
    return std::ranges::all_of(seen.nodes,
                               [&](const auto& n) { return n.epoch == seen.nodes[0].epoch; });
  })) << "all come to one epoch";
  EXPECT_GE(seen.nodes[0].floor, kept->token().value);
  EXPECT_TRUE(nodes.comes_to("contended", 0));
}

INSTANTIATE_TEST_SUITE_P(nodes, redlock_restart, testing::Values(1U, 2U));

/// Fault matrix: kill -9 and restart empty of 3 of 5 nodes | nothing is granted until `recover`;
/// tokens grow across it
TEST(redlock_restarts, a_majority_that_lost_its_state_needs_recover) {
  five_nodes nodes;
  nodes.init(4s);
  token old{};
  {
    session s = nodes.open(with_tokens);
    auto l = s.try_acquire(lock_name("a"));
    ASSERT_TRUE(l) << l.error().message();
    old = l->token();
    nodes.restart_empty(0, 3);
    std::optional<session> by;
    const auto refused = try_once(nodes, with_tokens, 1, by);
    EXPECT_EQ(refused.error(), errc::unavailable);
    EXPECT_THAT(refused.error().message(), HasSubstr("holdfast redlock recover"));
    std::this_thread::sleep_for(4300ms);
    EXPECT_FALSE(try_once(nodes, with_tokens, 2, by).has_value())
        << "it never works again by itself";
    EXPECT_EQ(l->check().error(), errc::lost);
  }
  const auto done = redlock::recover(nodes.url(with_tokens), {.max_ttl = 4s});
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(done->votes, 5U);
  std::optional<session> by;
  const auto l = try_once(nodes, with_tokens, 3, by);
  ASSERT_TRUE(l) << l.error().message();
  EXPECT_GT(l->token(), old);
}

/// Fault matrix: kill -9 of all nodes, which come back with older RDB files, and `recover` | tokens
/// grow, whatever counters the files have
TEST(redlock_restarts, tokens_grow_after_recover_from_older_files) {
  five_nodes nodes;
  nodes.init(4s);
  const auto next = [&nodes](std::size_t first) {
    std::optional<session> by;
    const auto l = try_once(nodes, with_tokens, first, by);
    EXPECT_TRUE(l) << l.error().message();
    return l ? l->token() : token{};
  };
  next(0);
  nodes.everywhere({"SAVE"});
  const token old = (next(1), next(2));
  for (std::size_t i = 0; i < 5; ++i) nodes.kill(i);
  for (std::size_t i = 0; i < 5; ++i) nodes.restart(i, server::data::keep);
  ASSERT_EQ(nodes.count("holdfast:token:a"), 5U) << "the counters of before are what is dangerous";
  const auto done = redlock::recover(nodes.url(with_tokens), {.max_ttl = 4s});
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_GT(next(3), old);
  // The same for who deletes the records, and sets the store up anew.
  nodes.everywhere({"SAVE"});
  const token newer = (next(0), next(1));
  for (std::size_t i = 0; i < 5; ++i) nodes.kill(i);
  for (std::size_t i = 0; i < 5; ++i) nodes.restart(i, server::data::keep);
  nodes.everywhere({"DEL", "holdfast:node"});
  nodes.init(4s);
  EXPECT_GT(next(2), newer);
}

class redlock_durable : public testing::TestWithParam<const char*> {};

/// Fault matrix: kill -9 of all nodes with `appendfsync always` | locks and tokens are kept; all
/// vote at once (with `tokens=off` where this user has seen before that they sync every write)
TEST_P(redlock_durable, nodes_that_sync_every_write_keep_locks_and_vote_at_once) {
  const std::string query = GetParam();
  five_nodes nodes(5, {.append_only = true, .fsync = "always"});
  const bool tokens = query.find("tokens=off") == std::string::npos;
  if (tokens) nodes.init();
  // With tokens=off nobody can know what was there before the first look.
  ASSERT_TRUE(nodes.votes_come_to(5, query));
  const duration max_ttl = tokens ? 60s : 10s;
  session s = nodes.open(query);
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  ASSERT_TRUE(nodes.comes_to("a", 5));
  for (std::size_t i = 0; i < 5; ++i) nodes.kill(i);
  const auto began = clock::now();
  for (std::size_t i = 0; i < 5; ++i) nodes.restart(i, server::data::keep);
  EXPECT_EQ(nodes.count("a"), 5U);
  EXPECT_TRUE(nodes.votes_come_to(5, query, 25s));
  EXPECT_LT(clock::now() - began, max_ttl);
  std::optional<session> by;
  EXPECT_EQ(try_once(nodes, query, 1, by).error(), errc::busy);
  EXPECT_TRUE(succeeded(l->check()));
  const token old = l->token();
  EXPECT_TRUE(succeeded(std::move(*l).release()));
  auto again = by->acquire(lock_name("a"), {.wait = 10s});
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_TRUE(!tokens || again->token() > old);
}

INSTANTIATE_TEST_SUITE_P(tokens, redlock_durable,
                         testing::Values("ttl=40s", "ttl=10s&max_ttl=10s&tokens=off"));

/// Fault matrix: kill -9 of all nodes with `appendfsync always` while they rewrite their files | as
/// without
TEST(redlock_restarts, nodes_that_die_while_they_rewrite_their_files_vote_at_once) {
  five_nodes nodes(3, {.append_only = true, .fsync = "always"});
  nodes.init();
  session s = nodes.open("ttl=40s");
  const auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  nodes.everywhere({"CONFIG", "SET", "rdb-key-save-delay", "2000000"});
  nodes.everywhere({"BGREWRITEAOF"});
  ASSERT_NE(nodes[0].command({"INFO"}).text.find("aof_rewrite_in_progress:1"), std::string::npos);
  // Clients that are connected look at one of them each second.
  std::this_thread::sleep_for(4s);
  nodes.everywhere({"CONFIG", "SET", "rdb-key-save-delay", "0"});
  for (std::size_t i = 0; i < 3; ++i) nodes.kill(i);
  const auto began = clock::now();
  for (std::size_t i = 0; i < 3; ++i) nodes.restart(i, server::data::keep);
  // A client of its own: the processes that rewrite keep the others' connections open for a while.
  EXPECT_TRUE(nodes.votes_come_to(3, "ttl=40s&node_timeout=700ms", 25s));
  EXPECT_LT(clock::now() - began, 40s) << "no wait for max_ttl, which is 60 s";
}

/// Fault matrix: kill -9 of 2 of 5 nodes, a session is opened, and others die when these are back |
/// the session has new locks at once, and not only from its next heartbeat on
TEST(redlock_restarts, a_session_takes_locks_on_nodes_that_were_away_when_it_was_opened) {
  five_nodes nodes(5, {.append_only = true, .fsync = "always"});
  nodes.init(300s);
  nodes.kill(0);
  nodes.kill(1);
  session s = nodes.open("ttl=300s");
  const auto began = clock::now();
  nodes.restart(0, server::data::keep);
  nodes.restart(1, server::data::keep);
  ASSERT_TRUE(nodes.votes_come_to(5));
  nodes.kill(3);
  nodes.kill(4);
  EXPECT_TRUE(eventually([&] {
    const auto l = s.try_acquire(lock_name("a"));
    EXPECT_TRUE(l || l.error().message().find("no record") == std::string::npos)
        << l.error().message();
    return l.has_value();
  }));
  EXPECT_LT(clock::now() - began, 100s) << "a heartbeat writes the session's record, too";
}

/// Fault matrix: CONFIG GET is not allowed on a durable node | `doctor` says that it counts as one
/// that is not, and names the right
TEST(redlock_restarts, a_node_that_does_not_tell_how_it_syncs_is_advised_to) {
  const std::string users = "user default on nopass ~* &* +@all -config|get\n";
  five_nodes nodes(1, {.append_only = true, .fsync = "always", .users = users});
  nodes.init();
  auto st = store::open(nodes.url());
  ASSERT_TRUE(st) << st.error().message();
  const auto told = st->diagnose();
  ASSERT_TRUE(told) << told.error().message();
  std::string all;
  for (const finding& f : *told) all += f.text + "\n";
  EXPECT_THAT(all, HasSubstr("whether every write is synced is not told"));
  EXPECT_THAT(all, HasSubstr("refuses CONFIG GET: NOPERM"));
  EXPECT_THAT(all, HasSubstr("Allow +config|get"));
  EXPECT_THAT(all, testing::Not(HasSubstr("set appendonly yes")));
}

/// Fault matrix: clean SHUTDOWN of all nodes with `appendfsync always` | as after kill -9
TEST(redlock_restarts, nodes_that_were_shut_down_cleanly_keep_locks_and_vote_at_once) {
  five_nodes nodes(5, {.append_only = true, .fsync = "always"});
  nodes.init();
  session s = nodes.open("ttl=40s");
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  ASSERT_TRUE(nodes.comes_to("a", 5));
  for (std::size_t i = 0; i < 5; ++i) nodes[i].shutdown();
  for (std::size_t i = 0; i < 5; ++i) nodes[i].start();
  EXPECT_TRUE(nodes.votes_come_to(5, "ttl=40s", 25s));
  EXPECT_TRUE(succeeded(l->check()));
  EXPECT_EQ(nodes.count("a"), 5U);
}

/// Fault matrix: kill -9 of a durable node whose data are then lost | it waits as any other
TEST(redlock_restarts, a_durable_node_that_lost_its_files_waits) {
  five_nodes nodes(5, {.append_only = true, .fsync = "always"});
  nodes.init(4s);
  session s = nodes.open(with_tokens);
  const auto began = clock::now();
  nodes.restart_empty(0, 1);
  EXPECT_TRUE(nodes.votes_come_to(5, with_tokens));
  EXPECT_GT(clock::now() - began, 4s);
}

/// Fault matrix: kill -9 and restart empty of 3 of 5 nodes, tokens=off | nothing is granted for
/// max_ttl; then it works again by itself
TEST(redlock_restarts, without_tokens_a_majority_works_again_after_max_ttl) {
  five_nodes nodes;
  // Servers that were never seen before wait as well.
  const auto first = clock::now();
  std::optional<session> holder;
  EXPECT_EQ(try_once(nodes, without_tokens, 0, holder).error(), errc::unavailable);
  ASSERT_TRUE(nodes.votes_come_to(5, without_tokens));
  EXPECT_GT(clock::now() - first, 2s);
  auto l = try_once(nodes, without_tokens, 0, holder);
  ASSERT_TRUE(l) << l.error().message();
  const auto began = clock::now();
  nodes.restart_empty(0, 3);
  std::optional<session> by;
  const auto refused = try_once(nodes, without_tokens, 1, by);
  EXPECT_EQ(refused.error(), errc::unavailable);
  EXPECT_THAT(refused.error().message(), HasSubstr("it votes again in"));
  result<lock> fresh = errc::unavailable;
  EXPECT_TRUE(eventually([&] {
    const bool held = l->check().has_value();
    fresh = try_once(nodes, without_tokens, 1, by);
    EXPECT_FALSE(held && fresh && l->check());
    return fresh.has_value();
  }));
  EXPECT_GT(clock::now() - began, 2s);
}

/// Fault matrix: short-lived programs after a restart, tokens=off | they share what they saw
TEST(redlock_restarts, short_lived_processes_share_their_first_sights) {
  five_nodes nodes;
  const std::string query = std::string(without_tokens) + "&node_timeout=500ms";
  const auto once = [&] {
    auto p = process::child::fork([url = nodes.url(query)] {
      auto s = holdfast::open(url);
      return s && s->try_acquire(lock_name("a")).has_value() ? 0 : 1;
    });
    return p.wait(20s) == 0;
  };
  const auto began = clock::now();
  EXPECT_FALSE(once());
  while (clock::now() - began < 2s) {
    EXPECT_FALSE(once() && clock::now() - began < 2s);
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_TRUE(eventually(once));
  nodes.forget_sights();
  EXPECT_FALSE(once());
}

TEST(redlock_restarts, first_sights_are_of_the_servers_and_not_of_the_url) {
  five_nodes nodes;
  const auto once = [&](const std::string& query, std::size_t first) {
    auto p = process::child::fork([url = nodes.url(query, first)] {
      auto s = holdfast::open(url);
      return s && s->try_acquire(lock_name("a")).has_value() ? 0 : 1;
    });
    return p.wait(20s) == 0;
  };
  EXPECT_FALSE(once("ttl=2s&max_ttl=2s&tokens=off", 0));
  std::this_thread::sleep_for(2500ms);
  EXPECT_TRUE(once("ttl=1900ms&max_ttl=2s&node_timeout=900ms&tokens=off", 1));
}

/// Fault matrix: max_ttl was raised by `recover`, and a node restarts with the record from before |
/// it waits for the longer one
TEST(redlock_restarts, a_record_from_before_a_longer_max_ttl_does_not_shorten_the_wait) {
  five_nodes nodes(3);
  nodes.init(1s);
  nodes.everywhere({"SAVE"});
  ASSERT_TRUE(redlock::recover(nodes.url(), {.max_ttl = 4s}));
  const auto began = clock::now();
  nodes.restart(1, server::data::keep);
  ASSERT_TRUE(nodes.votes_come_to(2, "ttl=4s"));
  ASSERT_TRUE(nodes.votes_come_to(3, "ttl=4s"));
  EXPECT_GE(clock::now() - began, 4s);
  EXPECT_EQ(nodes.look("ttl=4s").nodes[1].max_ttl, 4s) << "or it would refuse what others grant";
}

TEST(redlock_restarts, a_store_that_is_open_goes_on_after_recover) {
  five_nodes nodes;
  nodes.init(3s);
  auto open = store::open(nodes.url("ttl=3s"));
  ASSERT_TRUE(open) << open.error().message();
  ASSERT_TRUE(open->open_session());
  ASSERT_TRUE(redlock::recover(nodes.url("ttl=3s", 1), {.max_ttl = 20s}));
  const auto next = open->open_session();
  EXPECT_TRUE(next) << next.error().message();
}

TEST(redlock_restarts, assume_fresh_skips_the_wait_and_is_for_tokens_off) {
  five_nodes nodes;
  EXPECT_TRUE(succeeded(holdfast::open(nodes.url("ttl=5s&tokens=off&assume_fresh=yes"))));
  EXPECT_EQ(holdfast::open(nodes.url("ttl=5s&assume_fresh=yes")).error(), errc::invalid_argument);
}

/// Fault matrix: N = 1, kill -9 and restart empty | nothing is granted until `recover`
TEST(redlock_restarts, one_node_alone_that_lost_its_state_needs_recover) {
  five_nodes nodes(1);
  nodes.init(4s);
  nodes.restart_empty(0, 1);
  const auto refused = holdfast::open(nodes.url(with_tokens));
  EXPECT_EQ(refused.error(), errc::not_initialised);
  EXPECT_THAT(refused.error().message(), HasSubstr("holdfast redlock"));
}

/// Fault matrix: N = 1 with `appendfsync always`, kill -9 | the lock is kept; votes at once
TEST(redlock_restarts, one_durable_node_alone_votes_at_once) {
  five_nodes nodes(1, {.append_only = true, .fsync = "always"});
  nodes.init();
  session s = nodes.open("ttl=40s");
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  nodes.restart(0, server::data::keep);
  EXPECT_TRUE(nodes.votes_come_to(1, "ttl=40s", 25s));
  EXPECT_EQ(nodes.open("ttl=40s&extensions=9").try_acquire(lock_name("a")).error(), errc::busy);
  EXPECT_TRUE(succeeded(l->check()));
}

/// Fault matrix: nodes crash and come back empty one after the other | exclusion kept, tokens grow
TEST(redlock_restarts, nodes_that_crash_in_turn_keep_exclusion_and_tokens) {
  five_nodes nodes;
  nodes.init(1s);
  contest c(nodes, {.query = "ttl=1s&max_ttl=1s"});
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_TRUE(c.more(10)) << c.troubles();
    nodes.restart_empty(k, k + 1);
    EXPECT_TRUE(nodes.votes_come_to(5, "ttl=1s&max_ttl=1s"));
  }
  EXPECT_TRUE(c.more(10)) << c.troubles();
  c.end();
  EXPECT_THAT(c.violations(), IsEmpty());
  EXPECT_TRUE(nodes.comes_to("contended", 0));
}

TEST(redlock_first_sight, that_cannot_be_kept_for_the_next_process_is_told) {
  five_nodes nodes(1);
  std::ofstream(nodes.state() + "/file") << "no directory";
  ::setenv("XDG_STATE_HOME", (nodes.state() + "/file").c_str(), 1);
  std::optional<session> by;
  const auto l = try_once(nodes, without_tokens, 0, by);
  ASSERT_FALSE(l);
  EXPECT_THAT(l.error().message(), HasSubstr(nodes.state() + "/file")) << l.error().message();
}

/// Fault matrix: all nodes are new or lost their state, and no note can be kept of it | a program
/// that tries again and again goes on with the wait, with `tokens=off` until it gets its lock
TEST(redlock_first_sight, that_cannot_be_kept_counts_for_later_tries_of_this_process) {
  five_nodes nodes;
  ::setenv("XDG_STATE_HOME", "/dev/null/state", 1);
  const auto began = std::chrono::steady_clock::now();
  std::string why;
  EXPECT_TRUE(eventually([&] {
    std::optional<session> by;
    const auto l = try_once(nodes, without_tokens, 0, by);
    why = l ? "" : l.error().message();
    return l.has_value();
  })) << why;
  EXPECT_GE(std::chrono::steady_clock::now() - began, 2022ms);
}

/// Fault matrix: kill -9 of all nodes with `appendfsync always`, and a client comes while they come
/// back | its session waits for that, and is opened
TEST(redlock_restarts, a_session_is_opened_while_all_nodes_come_back) {
  five_nodes nodes(5, {.append_only = true, .fsync = "always"});
  nodes.init();
  for (int k = 0; k < 4; ++k) {
    for (std::size_t i = 0; i < 5; ++i) nodes.kill(i);
    for (std::size_t i = 0; i < 5; ++i) nodes.restart(i, server::data::keep);
    // A client of its own each time.
    const std::string at = nodes.url("ttl=30s&node_timeout=" + std::to_string(60 + k) + "ms");
    EXPECT_TRUE(succeeded(holdfast::open(at)));
  }
}

/// Fault matrix: a node records a session that too few others record, and restarts before that is
/// known | the record is deleted there, though the node may not even extend
TEST(redlock_restarts, the_record_of_a_session_that_was_not_opened_is_deleted_where_nobody_votes) {
  five_nodes nodes(5, {.append_only = true});
  nodes.init();
  nodes.stop(3);
  nodes.kill(4);
  // Who opens waits for nodes for as long as this may take on a busy machine.
  const std::string patient = "ttl=60s&node_timeout=3s";
  const session s = nodes.open(patient);
  for (const std::size_t i : {1U, 2U}) nodes[i].command({"DEL", "holdfast:node"});
  const auto records = [&] {
    return nodes[0].command({"KEYS", "holdfast:session:*"}).elements.size();
  };
  std::thread other([&] { EXPECT_FALSE(holdfast::open(nodes.url(patient))); });
  EXPECT_TRUE(eventually([&] { return records() == 2; }));
  // A disk that is busy with a sync holds up what is written.
  EXPECT_TRUE(eventually([&] {
    const std::string now = nodes[0].command({"INFO", "persistence"}).text;
    return now.find("aof_buffer_length:0\r") != std::string::npos;
  }));
  nodes.restart(0, server::data::keep);
  EXPECT_EQ(records(), 2U);
  // The client is back, before it is told that nothing comes of the session.
  EXPECT_TRUE(eventually([&] { return nodes[0].calls("script|load") > 0; }));
  nodes.resume(3);
  other.join();
  EXPECT_TRUE(eventually([&] { return records() == 1; })) << "that of the session that is open";
}

/// Fault matrix: the nodes are left in several epochs, and no majority in any | a session that is
/// opened waits until they are in one
TEST(redlock_restarts, a_session_is_opened_while_nodes_are_brought_to_one_epoch) {
  five_nodes nodes;
  nodes.init();
  for (std::size_t i = 0; i < 3; ++i) nodes[i].command({"HINCRBY", "holdfast:node", "epoch", "1"});
  nodes[0].command({"HINCRBY", "holdfast:node", "epoch", "1"});
  const auto s = holdfast::open(nodes.url("ttl=30s&node_timeout=500ms"));
  EXPECT_TRUE(s) << s.error().message();
}

/// As a client leaves them that ended while it brought a node back.
///
/// Fault matrix: a minority is gone for good, the others are left in two epochs | they meet in one,
/// and locks and tokens go on
TEST(redlock_restarts, a_majority_in_two_epochs_needs_no_others) {
  five_nodes nodes;
  nodes.init();
  const std::string quick = "ttl=5s&node_timeout=500ms";
  session s = nodes.open(quick);
  auto before = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(before) << before.error().message();
  for (std::size_t i = 3; i < 5; ++i) nodes.kill(i);
  nodes[0].command({"HINCRBY", "holdfast:node", "epoch", "1"});
  session other = nodes.open(quick, 1);
  EXPECT_EQ(other.try_acquire(lock_name("a")).error(), errc::busy);
  EXPECT_TRUE(succeeded(before->check()));
  const token old = before->token();
  EXPECT_TRUE(succeeded(std::move(*before).release()));
  const auto after = other.acquire(lock_name("a"), {.wait = 10s});
  ASSERT_TRUE(after) << after.error().message();
  EXPECT_GT(after->token(), old);
  const auto seen = nodes.look(quick);
  EXPECT_EQ(seen.votes, 3U);
}

}  // namespace

}  // namespace holdfast::redlock_tests
