#include "tests/redis_server/faults.hpp"
#include "tests/process/child.hpp"
#include "tests/redlock/contest.hpp"
#include "tests/redlock/five_nodes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

/// \file
/// Clients contend while something happens to the servers. Whatever it is: no two hold at once,
/// tokens grow, no key stays longer than its ttl, and all go on when it is over.

namespace holdfast::redlock_tests {

using testing::IsEmpty;

namespace {

constexpr const char* query = "ttl=1s&max_ttl=1s&node_timeout=100ms";

class redlock_faults : public testing::TestWithParam<std::size_t> {
 protected:
  redlock_faults()
      : nodes(5, {.settings = {"--lua-time-limit", "50", "--repl-diskless-sync-delay", "0"}}) {
    nodes.init(1s);
  }

  /// What begins and ends at each of the first GetParam() nodes. Fewer than a majority stop nobody.
  void goes_on(const redis_tests::fault& f) {
    contest c(nodes, {.query = query});
    EXPECT_TRUE(c.more(10)) << c.troubles();
    for (std::size_t i = 0; i < GetParam(); ++i) f.begin(nodes[i]);
    if (GetParam() < 3) {
      EXPECT_TRUE(c.more(15)) << c.troubles();
      std::this_thread::sleep_for(300ms);
    } else if (f.stops) {
      EXPECT_TRUE(c.rests(1s)) << "granted by nodes that cannot";
    }
    for (std::size_t i = 0; i < GetParam(); ++i) f.end(nodes[i]);
    EXPECT_TRUE(c.more(15)) << c.troubles();
    c.end();
    EXPECT_THAT(c.violations(), IsEmpty());
    EXPECT_TRUE(nodes.comes_to("contended", 0, 3s));
  }
  /// Sees also that those that were put out come back.
  void goes_on_and_all_vote_again(const redis_tests::fault& f) {
    goes_on(f);
    EXPECT_TRUE(nodes.votes_come_to(5, query));
  }

  five_nodes nodes;
};

/// Fault matrix: SCRIPT FLUSH | the scripts are sent again
TEST_P(redlock_faults, a_node_that_lost_its_scripts_gets_them_again) {
  goes_on_and_all_vote_again(redis_tests::faults::script_flush());
}

/// Fault matrix: CLIENT KILL | clients connect again
TEST_P(redlock_faults, clients_whose_connections_are_killed_connect_again) {
  goes_on_and_all_vote_again(redis_tests::faults::client_kill());
}

/// Fault matrix: CLIENT PAUSE | as a hung node
TEST_P(redlock_faults, a_node_that_pauses_its_clients_is_as_a_hung_one) {
  goes_on_and_all_vote_again(redis_tests::faults::client_pause());
}

/// Fault matrix: a script that never ends (BUSY) | the node has no vote until SCRIPT KILL
TEST_P(redlock_faults, a_node_with_an_endless_script_has_no_vote_until_it_is_killed) {
  goes_on_and_all_vote_again(redis_tests::faults::busy_script());
}

/// Fault matrix: MISCONF (a snapshot could not be written) | the node has no vote until it is put
/// right
TEST_P(redlock_faults, a_node_that_cannot_write_its_snapshot_has_no_vote) {
  goes_on_and_all_vote_again(redis_tests::faults::misconf());
}

/// Fault matrix: OOM with noeviction | the node has no vote until memory is free
TEST_P(redlock_faults, a_node_that_is_out_of_memory_has_no_vote) {
  goes_on_and_all_vote_again(redis_tests::faults::out_of_memory());
}

/// Fault matrix: maxclients reached | as a refused node
TEST_P(redlock_faults, a_node_that_takes_no_more_clients_is_as_a_refused_one) {
  goes_on_and_all_vote_again(redis_tests::faults::maxclients());
}

/// Fault matrix: NOREPLICAS (min-replicas-to-write is not met) | the node has no vote
TEST_P(redlock_faults, a_node_with_too_few_replicas_has_no_vote) {
  goes_on_and_all_vote_again(redis_tests::faults::too_few_replicas());
}

/// Fault matrix: SIGSTOP and SIGCONT | as a hung node; late answers are released
TEST_P(redlock_faults, late_answers_of_a_hung_node_are_released) {
  goes_on_and_all_vote_again(redis_tests::faults::hung());
}

/// Fault matrix: SIGSTOP for longer than the ttl | late answers count for nothing
TEST_P(redlock_faults, answers_later_than_the_ttl_count_for_nothing) {
  goes_on_and_all_vote_again(redis_tests::faults::hung_for_long());
}

INSTANTIATE_TEST_SUITE_P(nodes, redlock_faults, testing::Values(2U, 5U));

/// Faults that take state away: of a minority, since a majority needs recover.
class redlock_state_faults : public redlock_faults {};

/// Fault matrix: FLUSHALL during contention | the node waits and rejoins
TEST_P(redlock_state_faults, an_emptied_node_waits_and_rejoins) {
  goes_on_and_all_vote_again(
      {"flushall", [](server& s) { s.command({"FLUSHALL"}); }, [](server&) {}});
}

/// Fault matrix: SWAPDB and back | the node waits and rejoins
TEST_P(redlock_state_faults, a_node_with_another_database_waits_and_rejoins) {
  const auto swap = [](server& s) { s.command({"SWAPDB", "0", "1"}); };
  goes_on_and_all_vote_again({"swapdb", swap, swap});
}

/// Fault matrix: one node record deleted | the node waits and rejoins
TEST_P(redlock_state_faults, a_node_without_its_record_waits_and_rejoins) {
  const auto forget = [](server& s) { s.command({"DEL", "holdfast:node"}); };
  goes_on_and_all_vote_again({"no_record", forget, [](server&) {}});
}

/// Fault matrix: REPLICAOF another node and back | a copy has no vote; emptied, it rejoins
TEST_P(redlock_state_faults, a_copy_has_no_vote_and_rejoins_when_it_was_emptied) {
  const auto follow = [this](server& s) {
    s.command({"REPLICAOF", "127.0.0.1", std::to_string(nodes[4].port())});
    EXPECT_TRUE(process::eventually([&] {
      const std::string info = s.command({"INFO", "replication"}).text;
      return info.find("master_link_status:up") != std::string::npos;
    }));
  };
  goes_on({"replicaof", follow, [](server& s) { s.command({"REPLICAOF", "NO", "ONE"}); }});
  EXPECT_LE(nodes.look(query).votes, 5U - GetParam());
  for (std::size_t i = 0; i < GetParam(); ++i) {
    nodes[i].command({"FLUSHALL"});
    nodes[i].command({"CLIENT", "KILL", "TYPE", "normal"});
  }
  EXPECT_TRUE(nodes.votes_come_to(5, query));
}

INSTANTIATE_TEST_SUITE_P(nodes, redlock_state_faults, testing::Values(1U, 2U));

}  // namespace

}  // namespace holdfast::redlock_tests
