#include "tests/redis/node.hpp"

#include "engines/redlock/keys.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

namespace holdfast::redis_tests {
namespace {

using namespace std::chrono_literals;

struct release_script : testing::Test {
  release_script() {
    n.init();
    n.acquire("a", value(1));
  }
  node n;
};

TEST_F(release_script, deletes_our_own_key_once) {
  EXPECT_EQ(n.release("a", value(1)), integer(1));
  EXPECT_EQ(n.command({"EXISTS", "a"}), integer(0));
  EXPECT_EQ(n.release("a", value(1)), integer(0));
}

TEST_F(release_script, never_deletes_anothers_key) {
  EXPECT_EQ(n.release("a", value(2)), integer(0));
  EXPECT_EQ(n.release("a", value(1).substr(1)), integer(0));
  EXPECT_EQ(n.release("a", value(1) + "0"), integer(0));
  EXPECT_EQ(n.command({"GET", "a"}), text(value(1)));
}

TEST_F(release_script, leaves_another_type_of_value_alone) {
  n.command({"RPUSH", "list", value(1)});
  EXPECT_EQ(n.release("list", value(1)), integer(0));
  EXPECT_EQ(n.command({"LLEN", "list"}), integer(1));
}

TEST_F(release_script, works_where_the_node_is_not_admitted) {
  n.set_field("epoch", "0");
  EXPECT_EQ(n.release("a", value(1)), integer(1));
  n.command({"DEL", "holdfast:node"});
  n.command({"SET", "a", value(2), "NX", "PX", "5000"});
  EXPECT_EQ(n.release("a", value(2)), integer(1));
}

TEST_F(release_script, works_when_memory_is_out) {
  n.command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(n.release("a", value(1)), integer(1));
}

TEST_F(release_script, tells_who_waits_for_this_name) {
  connection waiter = n.of.connect();
  waiter.command({"SUBSCRIBE", redlock::free_channel("a")});
  n.release("a", value(2));
  EXPECT_FALSE(waiter.read(50ms)) << "nothing was released";
  waiter = n.of.connect();
  waiter.command({"SUBSCRIBE", redlock::free_channel("a")});
  n.release("a", value(1));
  EXPECT_EQ(waiter.read(10s), array({text("message"), text("holdfast:free:a"), text("released")}));
}

TEST_F(release_script, frees_the_lock_also_where_it_may_not_publish) {
  n.command({"ACL", "SETUSER", "quiet", "on", ">pw", "~*", "resetchannels", "+@all"});
  connection by = n.of.connect("quiet", "pw");
  EXPECT_EQ(n.run(by, scripts::release, {"a"}, {value(1)}), integer(2));
  EXPECT_EQ(n.command({"EXISTS", "a"}), integer(0));
}

TEST_F(release_script, says_that_the_disk_fails_by_the_servers_own_word) {
  n.command({"CONFIG", "SET", "save", "1 1"});
  std::filesystem::remove_all(n.of.directory());
  n.command({"BGSAVE"});
  ASSERT_TRUE(process::eventually([&] {
    return n.command({"INFO", "persistence"}).text.find("rdb_last_bgsave_status:err") !=
           std::string::npos;
  }));
  EXPECT_EQ(n.acquire("b", value(2)).error_word(), "MISCONF");
  EXPECT_EQ(n.release("a", value(1)).error_word(), "MISCONF");
  EXPECT_EQ(n.command({"GET", "a"}), text(value(1)));
}

}  // namespace
}  // namespace holdfast::redis_tests
