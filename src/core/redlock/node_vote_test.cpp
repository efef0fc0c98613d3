#include "core/redlock/node_vote.hpp"

#include "gtest/gtest.h"

#include <set>
#include <string>

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;

vote vote_on(const char* line) { return node_vote::of(fault_of(line)).what; }

TEST(node_vote, an_error_reply_is_a_failed_node_and_never_a_taken_lock) {
  for (const char* line :
       {"LOADING Redis is loading the dataset in memory",
        "MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist",
        "OOM command not allowed when used memory > 'maxmemory'.",
        "READONLY You can't write against a read only replica.",
        "MASTERDOWN Link with MASTER is down",
        "BUSY Redis is busy running a script.",
        "UNKILLABLE Sorry the script already executed write commands",
        "NOSCRIPT No matching script.",
        "NOAUTH Authentication required.",
        "WRONGPASS invalid username-password pair",
        "NOPERM this user has no permissions to run the 'set' command",
        "MOVED 3999 127.0.0.1:6381",
        "ASK 3999 127.0.0.1:6381",
        "CROSSSLOT Keys",
        "CLUSTERDOWN",
        "TRYAGAIN Multiple keys",
        "NOREPLICAS Not enough good replicas to write.",
        "WRONGTYPE Operation against a key",
        "ERR max number of clients reached",
        "ERR unknown command",
        "",
        " ",
        "BUSYBODY",
        "\r\n"}) {
    EXPECT_EQ(vote_on(line), vote::failed) << line;
    EXPECT_NE(fault_of(line), fault::none) << line;
  }
}

TEST(node_vote, tells_the_errors_apart) {
  EXPECT_EQ(fault_of("MISCONF x"), fault::disk_error);
  EXPECT_EQ(fault_of("OOM x"), fault::out_of_memory);
  EXPECT_EQ(fault_of("READONLY x"), fault_of("MASTERDOWN x"));
  EXPECT_EQ(fault_of("ERR max number of clients reached"), fault::too_many_clients);
  EXPECT_EQ(fault_of("BUSYBODY x"), fault::refused) << "the whole word counts";
  EXPECT_EQ(fault_of("BUSY"), fault::busy_script);
}

TEST(node_vote, knows_what_our_own_scripts_refuse_with) {
  EXPECT_EQ(fault_of("HFNOTADMITTED this node has no record"), fault::not_admitted);
  EXPECT_EQ(fault_of("HFEPOCH 7 is the epoch of this node, not 6"), fault::epoch_moved);
  EXPECT_EQ(fault_of("HFTTL 60000 ms is the longest ttl here"), fault::ttl_too_long);
  EXPECT_EQ(fault_of("HFNOSESSION this node has no record"), fault::session_missing);
  EXPECT_EQ(fault_of("HFDENIED by ann: it hangs"), fault::denied);
  EXPECT_EQ(fault_of("HFCLOCK 5000 us: so far TIME went back"), fault::clock_went_back);
  EXPECT_EQ(fault_of("HFCOUNTER 9007199254740992 is above 2^53 - 1"), fault::counter_full);
}

TEST(node_vote, what_was_not_answered_may_have_been_done) {
  for (const fault f : {fault::silent, fault::connection_lost, fault::garbled}) {
    EXPECT_EQ(node_vote::of(f).what, vote::unknown);
  }
  EXPECT_EQ(node_vote::of(fault::unreachable).what, vote::failed) << "it was never sent";
}

TEST(node_vote, a_possible_restart_is_looked_at_again) {
  for (const fault f : {fault::script_missing, fault::not_admitted, fault::epoch_moved,
                        fault::loading, fault::replica, fault::connection_lost}) {
    EXPECT_TRUE(action_on(f).look_again) << action_on(f).text;
  }
  EXPECT_FALSE(action_on(fault::out_of_memory).look_again);
}

TEST(node_vote, every_fault_has_words_of_its_own) {
  std::set<std::string> texts;
  for (auto f = static_cast<int>(fault::none); f <= static_cast<int>(fault::refused); ++f) {
    const char* text = action_on(static_cast<fault>(f)).text;
    ASSERT_NE(text, nullptr);
    EXPECT_TRUE(texts.insert(text).second) << text;
  }
}

TEST(node_vote, carries_what_the_node_said) {
  EXPECT_EQ(node_vote::granted(7).counter, 7U);
  EXPECT_EQ(node_vote::taken(5s).left, 5s);
  EXPECT_EQ(node_vote::of(fault::epoch_moved, 9).epoch, 9U);
}

}  // namespace
}  // namespace holdfast::core::redlock
