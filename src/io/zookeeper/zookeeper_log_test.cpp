#include "io/zookeeper/zookeeper_log.hpp"

#include <gtest/gtest.h>

namespace holdfast::io {
namespace {

std::string line_of(const std::string& reason) {
  return "2026-01-01 00:00:00,000:1(0x1):ZOO_ERROR@handle_socket_error_msg@1: Socket "
         "127.0.0.1:2181 zk retcode=-4, errno=1(" +
         reason + "): failed while receiving a server response";
}

TEST(zookeeper_log, is_heard_by_the_innermost_and_by_nobody_else) {
  zookeeper_log::take("nobody listens");
  std::string outer;
  std::string inner;
  {
    const zookeeper_log hears(outer);
    zookeeper_log::take("first");
    {
      const zookeeper_log hears_too(inner);
      zookeeper_log::take("second");
      zookeeper_log::take("third");
    }
    EXPECT_EQ(outer, "first");
    zookeeper_log::take("fourth");
  }
  zookeeper_log::take("nobody listens");
  EXPECT_EQ(inner, "third");
  EXPECT_EQ(outer, "fourth");
}

TEST(zookeeper_log, that_says_nothing_of_a_server_is_no_trouble) {
  for (const char* line : {"", "errno=", "Socket 127.0.0.1:2181", "errno=1(): x",
                           "Authentication scheme digest failed. Connection closed."}) {
    EXPECT_EQ(zookeeper_log::trouble_in(line, true), "") << line;
  }
}

TEST(zookeeper_log, says_which_server_is_of_no_use_and_what_may_be_wrong) {
  EXPECT_EQ(zookeeper_log::trouble_in(line_of("Connection refused"), false),
            "127.0.0.1:2181 refuses the connection; does it run there?");
  EXPECT_EQ(zookeeper_log::trouble_in(line_of("Connection timed out"), false),
            "127.0.0.1:2181 does not answer: it hangs, or is no ZooKeeper");
  EXPECT_EQ(zookeeper_log::trouble_in(line_of("No route to host"), false),
            "127.0.0.1:2181 No route to host");
}

TEST(zookeeper_log, asks_for_a_leader_only_of_a_server_that_said_nothing) {
  for (const char* end : {"Host is down", "Broken pipe", "Connection reset by peer"}) {
    EXPECT_EQ(zookeeper_log::trouble_in(line_of(end), true),
              "127.0.0.1:2181 closes the connection");
    EXPECT_NE(zookeeper_log::trouble_in(line_of(end), false).find("has it a leader"),
              std::string::npos);
  }
}

TEST(zookeeper_log, says_that_nobody_is_there_only_where_none_can_be) {
  EXPECT_TRUE(zookeeper_log::says_nobody_is_there(line_of("Connection refused")));
  EXPECT_TRUE(zookeeper_log::says_nobody_is_there(line_of("No route to host")));
  EXPECT_TRUE(zookeeper_log::says_nobody_is_there(line_of("Network is unreachable")));
  EXPECT_FALSE(zookeeper_log::says_nobody_is_there(line_of("Connection timed out")));
  EXPECT_FALSE(zookeeper_log::says_nobody_is_there(line_of("Host is down")));
}

}  // namespace
}  // namespace holdfast::io
