#include "tests/process/child.hpp"
#include "tests/redlock/five_nodes.hpp"
#include "tests/succeeded.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>

/// Nodes whose process lives on while their data, or what they keep of it, become others.

namespace holdfast::redlock_tests {

using process::eventually;
using testing::HasSubstr;

namespace {

constexpr const char* with_tokens = "ttl=4s&max_ttl=4s";
/// In this process, too, a client with connections of its own.
constexpr const char* apart = "ttl=4s&max_ttl=4s&node_timeout=700ms";

void follow(server& who, const server& whom) {
  who.command({"REPLICAOF", "127.0.0.1", std::to_string(whom.port())});
  EXPECT_TRUE(eventually([&] {
    return who.command({"INFO", "replication"}).text.find("master_link_status:up") !=
           std::string::npos;
  }));
}

void lead(server& who) { who.command({"REPLICAOF", "NO", "ONE"}); }

/// A copy of a node, as it is now.
class old_copy {
 public:
  explicit old_copy(server& of) {
    follow(copy_, of);
    lead(copy_);
  }
  /// The node is failed over to the copy, and back.
  void put_back_to(server& node) {
    follow(node, copy_);
    lead(node);
  }

 private:
  server copy_{server::options{.settings = {"--repl-diskless-sync-delay", "0"}}};
};

/// Fault matrix: failover to a copy that is behind, and back to the same process | the node has
/// lost its state: it waits for max_ttl and rejoins
TEST(redlock_failover, a_node_with_the_data_of_another_one_waits_and_rejoins) {
  five_nodes nodes(3, {.settings = {"--repl-diskless-sync-delay", "0"}});
  nodes.init(4s);
  old_copy copy(nodes[0]);
  session s = nodes.open(with_tokens);
  auto kept = s.try_acquire(lock_name("kept"));
  ASSERT_TRUE(kept) << kept.error().message();
  const auto before = nodes[0].command({"HGET", "holdfast:node", "nonce"}).text;
  copy.put_back_to(nodes[0]);
  const auto began = clock::now();
  EXPECT_TRUE(nodes.votes_come_to(2, with_tokens));
  EXPECT_NE(nodes[0].command({"HGET", "holdfast:node", "nonce"}).text, before)
      << "clients that are still connected count it no longer";
  EXPECT_TRUE(nodes.votes_come_to(3, with_tokens));
  EXPECT_GT(clock::now() - began, 4s);
  EXPECT_TRUE(succeeded(kept->check()));
}

/// Fault matrix: failover to a copy that is behind, and back, N = 1 | nothing is granted until
/// `recover`, by new clients and by those that are connected
TEST(redlock_failover, a_single_node_with_the_data_of_another_one_grants_nothing) {
  five_nodes nodes(1, {.settings = {"--repl-diskless-sync-delay", "0"}});
  nodes.init(4s);
  old_copy copy(nodes[0]);
  session holder = nodes.open(with_tokens);
  session connected = nodes.open(with_tokens);
  auto held = holder.try_acquire(lock_name("a"));
  ASSERT_TRUE(held) << held.error().message();
  copy.put_back_to(nodes[0]);
  const auto opened = holdfast::open(nodes.url(apart));
  ASSERT_FALSE(opened) << "it could grant what is held, with a token that was given before";
  EXPECT_THAT(opened.error().message(), HasSubstr("holdfast redlock recover"));
  EXPECT_FALSE(connected.try_acquire(lock_name("a")).has_value());
}

/// Fault matrix: the same, and the server has forgotten it when the next client comes | nothing is
/// granted until `recover`
TEST(redlock_failover, a_promotion_that_the_server_has_forgotten_is_seen) {
  five_nodes nodes(1, {.settings = {"--repl-diskless-sync-delay", "0", "--repl-backlog-ttl", "1"}});
  nodes.init(4s);
  old_copy copy(nodes[0]);
  {
    session s = nodes.open(with_tokens);
    ASSERT_TRUE(succeeded(s.try_acquire(lock_name("a"))));
  }
  copy.put_back_to(nodes[0]);
  ASSERT_TRUE(eventually([&] {
    const auto told = nodes[0].command({"INFO", "replication"}).text;
    return told.find("second_repl_offset:-1\r\n") != std::string::npos;
  }));
  const auto opened = holdfast::open(nodes.url(with_tokens));
  ASSERT_FALSE(opened) << "it would give a token that was given before";
  EXPECT_THAT(opened.error().message(), HasSubstr("holdfast redlock recover"));
}

/// Fault matrix: the same, seen by connected clients alone | they see it within some seconds
TEST(redlock_failover, a_connected_client_looks_at_its_nodes_from_time_to_time) {
  five_nodes nodes(1, {.settings = {"--repl-diskless-sync-delay", "0"}});
  nodes.init(4s);
  old_copy copy(nodes[0]);
  session connected = nodes.open(with_tokens);
  const auto before = nodes[0].command({"HGET", "holdfast:node", "nonce"}).text;
  copy.put_back_to(nodes[0]);
  EXPECT_TRUE(eventually([&] {
    return nodes[0].command({"HGET", "holdfast:node", "nonce"}).text != before;
  }));
  EXPECT_FALSE(connected.try_acquire(lock_name("a")).has_value());
}

/// Fault matrix: CONFIG SET appendonly no | within seconds the node's record says that it syncs no
/// longer, so that it waits after a restart with its older file
TEST(redlock_failover, a_node_that_syncs_no_longer_has_it_in_its_record) {
  five_nodes nodes(3, {.append_only = true, .fsync = "always"});
  nodes.init(4s);
  session s = nodes.open(with_tokens);
  const auto durable = [&] { return nodes[0].command({"HGET", "holdfast:node", "durable"}).text; };
  ASSERT_EQ(durable(), "1");
  nodes[0].command({"CONFIG", "SET", "appendonly", "no"});
  ASSERT_TRUE(eventually([&] { return durable() == "0"; })) << "by a client that was connected";
  nodes[0].command({"CONFIG", "SET", "appendonly", "yes"});
  ASSERT_TRUE(eventually([&] { return durable() == "1"; })) << "and back";
  nodes[0].command({"CONFIG", "SET", "appendonly", "no"});
  ASSERT_TRUE(eventually([&] { return durable() == "0"; }));
  EXPECT_EQ(nodes.look(with_tokens).votes, 3U);
}

/// Fault matrix: a full node whose settings change | it votes on, and its record says so
TEST(redlock_failover, a_full_node_whose_settings_change_has_it_in_its_record) {
  five_nodes nodes(3);
  nodes.init(4s);
  session s = nodes.open(with_tokens);
  nodes[0].command({"CONFIG", "SET", "maxmemory", "1"});
  nodes[0].command({"CONFIG", "SET", "appendonly", "yes"});
  nodes[0].command({"CONFIG", "SET", "appendfsync", "always"});
  EXPECT_TRUE(eventually([&] {
    const auto seen = nodes.look(with_tokens);
    EXPECT_EQ(seen.votes, 3U);
    for (const auto& n : seen.nodes) EXPECT_TRUE(n.connected) << n.standing;
    return nodes[0].command({"HGET", "holdfast:node", "durable"}).text == "1";
  }));
}

/// Fault matrix: a node that lost its state and takes no write (NOREPLICAS) | it is asked rarely,
/// and its refusal is told
TEST(redlock_failover, a_node_that_takes_no_record_is_not_flooded) {
  five_nodes nodes(3);
  nodes.init(4s);
  session s = nodes.open(with_tokens);
  nodes.restart_empty(0, 1);
  nodes[0].command({"CONFIG", "SET", "min-replicas-to-write", "1"});
  std::this_thread::sleep_for(500ms);
  nodes[0].command({"CONFIG", "RESETSTAT"});
  std::this_thread::sleep_for(2s);
  EXPECT_LT(nodes[0].calls("evalsha"), 100);
  bool told = false;
  EXPECT_TRUE(eventually([&] {
    const auto seen = nodes.look(with_tokens);
    for (const auto& n : seen.nodes)
      told = told || n.standing.find("NOREPLICAS") != n.standing.npos;
    return told;
  }));
  nodes[0].command({"CONFIG", "SET", "min-replicas-to-write", "0"});
  EXPECT_TRUE(nodes.votes_come_to(3, with_tokens));
}

}  // namespace
}  // namespace holdfast::redlock_tests
