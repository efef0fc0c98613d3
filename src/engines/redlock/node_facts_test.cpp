#include "engines/redlock/cluster.hpp"

#include <gtest/gtest.h>

namespace holdfast::engines::redlock {
namespace {

io::redis_facts a_server() {
  io::redis_facts f;
  f.mode = "standalone";
  f.role = "master";
  f.run_id = "run-1";
  f.info = {{"second_repl_offset", "-1"}};
  return f;
}

TEST(node_facts, tell_a_master_from_all_that_redlock_cannot_use) {
  io::redis_facts f = a_server();
  EXPECT_EQ(facts_of(f, {}).run_id, "run-1");
  EXPECT_TRUE(facts_of(f, {}).master);
  EXPECT_TRUE(facts_of(f, {}).standalone);
  EXPECT_FALSE(facts_of(f, {}).durable) << "INFO alone proves nothing";
  f.role = "slave";
  EXPECT_FALSE(facts_of(f, {}).master);
  f = a_server();
  f.info["master_replid"] = "data-1";
  EXPECT_EQ(facts_of(f, {}).run_id, "run-1") << "it was never promoted";
  f.info["second_repl_offset"] = "17";
  EXPECT_EQ(facts_of(f, {}).run_id, "run-1#data-1") << "it has the data of the server it followed";
  f = a_server();
  f.info["master_replid"] = "data-2";
  f.info["total_net_repl_input_bytes"] = "0";
  EXPECT_EQ(facts_of(f, {}).run_id, "run-1");
  f.info["total_net_repl_input_bytes"] = "175";
  EXPECT_EQ(facts_of(f, {}).run_id, "run-1#data-2")
      << "its promotion is forgotten, not what it read";
  f = a_server();
  f.mode = "cluster";
  EXPECT_FALSE(facts_of(f, {}).standalone);
  f.mode = f.role = "sentinel";
  EXPECT_FALSE(facts_of(f, {}).standalone);
  f = a_server();
  f.role = "";
  EXPECT_FALSE(facts_of(f, {}).master) << "what does not say that it is one is none";
}

TEST(node_facts, tell_a_server_that_may_drop_keys_unless_that_is_accepted) {
  io::redis_facts f = a_server();
  f.info["maxmemory"] = "0";
  f.info["maxmemory_policy"] = "allkeys-lru";
  EXPECT_EQ(facts_of(f, {}).unsafe, "") << "without a limit it drops none";
  f.info["maxmemory"] = "100000000";
  EXPECT_NE(facts_of(f, {}).unsafe.find("may_evict=yes"), std::string::npos);
  // A held lock has a ttl.
  f.info["maxmemory_policy"] = "volatile-ttl";
  EXPECT_NE(facts_of(f, {}).unsafe.find("(maxmemory-policy volatile-ttl)"), std::string::npos);
  settings accepting;
  accepting.may_evict = true;
  EXPECT_EQ(facts_of(f, accepting).unsafe, "");
  f.info["maxmemory_policy"] = "noeviction";
  EXPECT_EQ(facts_of(f, {}).unsafe, "");
}

}  // namespace
}  // namespace holdfast::engines::redlock
