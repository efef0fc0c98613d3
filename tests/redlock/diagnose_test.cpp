#include "tests/redis_server/wall_clock.hpp"
#include "tests/redlock/five_nodes.hpp"
#include "tests/succeeded.hpp"

#include <holdfast/store.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

/// \file
/// What `doctor` says of each node, line by line.

namespace holdfast::redlock_tests {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::StartsWith;

namespace {

/// How far a clock is from this host's is measured: X stands for what the measuring took.
std::string without_measures(std::string text) {
  text = std::regex_replace(text, std::regex("its clock is within [0-9]+ ms"),
                            "its clock is within X ms");
  return std::regex_replace(text, std::regex(R"(clock is \+3(59|60)[0-9]{4} ms \(\+-[0-9]+ ms)"),
                            "clock is +3600000 ms (+-X ms");
}

/// "severity subject: text", of one subject or, without one, of all that is not about a node.
std::vector<std::string> lines_of(const std::string& url, const std::string& subject = {}) {
  const auto told = store::open(url).value().diagnose();
  EXPECT_TRUE(succeeded(told));
  std::vector<std::string> lines;
  if (!told) return lines;
  for (const finding& f : *told) {
    const bool node = f.subject.find(':') != std::string::npos;
    if (subject.empty() ? node : f.subject != subject) continue;
    lines.push_back(name_of(f.severity) + (" " + (node ? "" : f.subject + ": ")) +
                    without_measures(f.text));
  }
  return lines;
}

std::string version_of(server& s) {
  const std::string info = s.command({"INFO", "server"}).text;
  const auto from = info.find("redis_version:") + 14;
  return info.substr(from, info.find('\r', from) - from);
}

std::string field(server& s, const char* name) {
  return s.command({"HGET", "holdfast:node", name}).text;
}

/// What is said of a node with a record that votes.
std::string record_line(server& s, const std::string& max_ttl) {
  return "good votes; record " + field(s, "id").substr(0, 8) + ", epoch " + field(s, "epoch") +
         ", max_ttl " + max_ttl + ", token floor " + field(s, "floor");
}

const std::string not_durable =
    "warning loses locks when it restarts, and then does not vote for max_ttl; set appendonly yes "
    "and appendfsync always to keep both, and attach no replica";
const std::string no_limit = ", eviction policy noeviction (no memory limit)";
const std::string same_clock = ", its clock is within X ms of this host's";

/// Whatever each node is like: the beginning of its first line.
std::string server_line(server& s) { return "good Redis " + version_of(s) + ", master, "; }

/// Three nodes of which no two are set up alike.
struct redlock_doctor : testing::Test {
  redlock_doctor() {
    ahead.step(1h);
    EXPECT_TRUE(succeeded(redlock::init(nodes.url(accepting), {.max_ttl = 90s})));
  }

  const std::string accepting{"ttl=5s&may_evict=yes"};
  redis_tests::wall_clock ahead;
  const server::options plain{};
  const server::options evicting{
      .append_only = true,
      .settings = {"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}};
  const server::options synced{
      .append_only = true,
      .fsync = "always",
      .settings = {"--maxmemory", "100mb", "--maxmemory-policy", "noeviction"},
      .environment = ahead.environment()};
  five_nodes nodes{{plain, evicting, synced}};
};

TEST_F(redlock_doctor, each_node_is_described_in_full) {
  const std::string url = nodes.url(accepting);
  {
    session s = nodes.open(accepting);
    ASSERT_TRUE(s.try_acquire(lock_name("a")));  // It lifts floors.
  }
  ASSERT_NE(field(nodes[2], "floor"), field(nodes[2], "epoch"));
  EXPECT_THAT(lines_of(url, nodes[0].address()),
              ElementsAre(server_line(nodes[0]) + "no appendonly file" + no_limit + same_clock,
                          not_durable, record_line(nodes[0], "1m30s")));
  EXPECT_THAT(lines_of(url, nodes[1].address()),
              ElementsAre(server_line(nodes[1]) +
                              "appendonly, not synced at every write, eviction policy allkeys-lru" +
                              same_clock,
                          "fault drops keys when its memory limit is reached (maxmemory-policy "
                          "allkeys-lru): a held lock can vanish. Set maxmemory-policy noeviction",
                          not_durable, record_line(nodes[1], "1m30s")));
  EXPECT_THAT(lines_of(url, nodes[2].address()),
              ElementsAre(server_line(nodes[2]) +
                              "every write is synced, eviction policy noeviction, its clock is "
                              "+3600000 ms (+-X ms) from this host's",
                          record_line(nodes[2], "1m30s")));
  EXPECT_THAT(lines_of(url), IsSupersetOf({"good majority: 3 of 3 nodes vote, needed are 2",
                                           "warning nodes: with 3 nodes one that is down and one "
                                           "that lost its state stop all locks; 5 are "
                                           "recommended"}));
}

TEST_F(redlock_doctor, a_setting_that_changes_is_told_of_the_next_time) {
  nodes[0].command({"CONFIG", "SET", "maxmemory", "50mb"});
  nodes[0].command({"CONFIG", "SET", "maxmemory-policy", "volatile-ttl"});
  nodes[2].command({"CONFIG", "SET", "appendfsync", "everysec"});
  nodes[2].command({"HSET", "holdfast:node", "max_ttl", "5000"});
  const std::string url = nodes.url(accepting + "&max_ttl=30s");
  const auto first = lines_of(url, nodes[0].address());
  ASSERT_GE(first.size(), 2U);
  EXPECT_EQ(first[0], server_line(nodes[0]) + "no appendonly file, eviction policy volatile-ttl" +
                          same_clock);
  EXPECT_THAT(first[1], StartsWith("fault drops keys when its memory limit is reached"));
  const auto third = lines_of(url, nodes[2].address());
  ASSERT_EQ(third.size(), 3U);
  EXPECT_THAT(third[0], HasSubstr(", master, appendonly, not synced at every write, eviction"));
  EXPECT_EQ(third[1], not_durable);
  EXPECT_EQ(third[2], record_line(nodes[2], "5s"));
  EXPECT_THAT(
      lines_of(url),
      AllOf(Contains(StartsWith("warning max_ttl: the URL's max_ttl is 30s")),
            Contains(StartsWith("warning max_ttl: the records of nodes differ, 1m30s and 5s at " +
                                nodes[2].address()))));
}

TEST_F(redlock_doctor, without_tokens_there_is_no_record_to_tell_of) {
  const std::string url = nodes.url(accepting + "&tokens=off&assume_fresh=yes");
  EXPECT_THAT(lines_of(url, nodes[0].address()),
              ElementsAre(server_line(nodes[0]) + "no appendonly file" + no_limit + same_clock,
                          not_durable, "good votes; keeps no record (tokens=off)"));
  EXPECT_THAT(lines_of(url), IsSupersetOf({"good majority: 3 of 3 nodes vote, needed are 2",
                                           "warning tokens: off: no fencing tokens, no deny, and a "
                                           "restart is seen by run_id alone; after one a node "
                                           "waits for max_ttl, here 1m, but assume_fresh=yes skips "
                                           "that for programs that start then"}));
}

TEST_F(redlock_doctor, a_node_that_may_drop_keys_is_a_fault_once) {
  EXPECT_THAT(lines_of(nodes.url(), nodes[1].address()),
              ElementsAre(StartsWith("good Redis"), not_durable,
                          AllOf(StartsWith("fault drops keys when its memory limit is reached "
                                           "(maxmemory-policy allkeys-lru)"),
                                HasSubstr("may_evict=yes"))));
}

TEST_F(redlock_doctor, what_does_not_vote_is_told_with_its_record) {
  nodes[0].command({"DEL", "holdfast:node"});
  nodes.kill(1);
  const std::string url = nodes.url(accepting);
  const auto lost = lines_of(url, nodes[0].address());
  ASSERT_EQ(lost.size(), 3U);
  EXPECT_THAT(lost[2], StartsWith("warning lost its state and does not vote for 1m"));
  EXPECT_THAT(lost[2], EndsWith("answers; record " + field(nodes[0], "id").substr(0, 8) +
                                ", epoch 0, max_ttl 1m30s, token floor 0"));
  EXPECT_THAT(lines_of(url, nodes[1].address()),
              ElementsAre("warning does not vote: redis node " + nodes[1].address() +
                          ": cannot connect: Connection refused (is the server running there?)"));
  EXPECT_EQ(lines_of(url, nodes[2].address()).back(), record_line(nodes[2], "1m30s"));
  EXPECT_THAT(lines_of(url), Contains(StartsWith("fault majority: 1 of 3 nodes vote, needed are "
                                                 "2; ")));
}

TEST(redlock_doctor_of_a_new_store, each_node_has_no_record) {
  five_nodes nodes(2);
  EXPECT_THAT(lines_of(nodes.url(), nodes[0].address()),
              ElementsAre(server_line(nodes[0]) + "no appendonly file" + no_limit + same_clock,
                          not_durable, "warning has no node record"));
  EXPECT_THAT(lines_of(nodes.url()),
              Contains("warning nodes: 2 nodes tolerate no more failures than 1 node does; use an "
                       "odd number"));
}

/// Fault matrix: a node is made a replica of another one | `doctor` calls it a fault, and says
/// what to do
TEST(redlock_doctor_of_a_new_store, a_replica_is_a_fault) {
  five_nodes nodes(3);
  nodes.init();
  nodes[0].command({"REPLICAOF", "127.0.0.1", std::to_string(nodes[1].port())});
  const auto lines = lines_of(nodes.url(), nodes[0].address());
  ASSERT_FALSE(lines.empty());
  EXPECT_THAT(lines.front(), StartsWith("good Redis " + version_of(nodes[0]) +
                                        ", replica, no appendonly file" + no_limit));
  EXPECT_THAT(lines.back(),
              StartsWith("fault is a replica; Redlock needs independent masters: take it "
                         "out of the list of nodes; record "));
}

}  // namespace
}  // namespace holdfast::redlock_tests
