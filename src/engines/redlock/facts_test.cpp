#include "engines/redlock/facts.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace holdfast::engines::redlock {
namespace {

using wire::reply;
using wire::reply_kind;

io::redis_facts a_server() {
  io::redis_facts f;
  f.protocol = 3;
  f.version = "7.0.15";
  f.mode = "standalone";
  f.role = "master";
  f.run_id = "run-1";
  f.info = {{"aof_enabled", "1"},
            {"aof_last_write_status", "ok"},
            {"aof_rewrite_in_progress", "0"},
            {"aof_rewrite_scheduled", "0"},
            {"connected_slaves", "0"},
            {"second_repl_offset", "-1"}};
  return f;
}

reply config_of(std::vector<std::pair<std::string, std::string>> settings, reply_kind as) {
  reply r{.kind = as};
  for (auto& [key, value] : settings) {
    r.elements.push_back({.kind = reply_kind::text, .text = key});
    r.elements.push_back({.kind = reply_kind::text, .text = value});
  }
  return r;
}

const std::vector<std::pair<std::string, std::string>> safe{{"no-appendfsync-on-rewrite", "no"},
                                                            {"appendonly", "yes"},
                                                            {"appenddirname", "appendonlydir"},
                                                            {"appendfsync", "always"}};

TEST(facts, tell_a_master_from_all_that_redlock_cannot_use) {
  io::redis_facts f = a_server();
  ASSERT_TRUE(facts::check(f));
  EXPECT_EQ(facts::of(f).run_id, "run-1");
  EXPECT_TRUE(facts::of(f).master);
  EXPECT_TRUE(facts::of(f).standalone);
  EXPECT_FALSE(facts::of(f).durable) << "INFO alone proves nothing";
  f.role = "slave";
  EXPECT_FALSE(facts::of(f).master);
  f = a_server();
  f.info["master_replid"] = "data-1";
  EXPECT_EQ(facts::of(f).run_id, "run-1") << "it was never promoted";
  f.info["second_repl_offset"] = "17";
  EXPECT_EQ(facts::of(f).run_id, "run-1#data-1") << "it has the data of the server it followed";
  f = a_server();
  f.info["master_replid"] = "data-2";
  f.info["total_net_repl_input_bytes"] = "0";
  EXPECT_EQ(facts::of(f).run_id, "run-1");
  f.info["total_net_repl_input_bytes"] = "175";
  EXPECT_EQ(facts::of(f).run_id, "run-1#data-2") << "its promotion is forgotten, not what it read";
  f = a_server();
  f.mode = "cluster";
  EXPECT_FALSE(facts::of(f).standalone);
  f.mode = f.role = "sentinel";
  EXPECT_FALSE(facts::of(f).standalone);
  f = a_server();
  f.role = "";
  EXPECT_FALSE(facts::of(f).master) << "what does not say that it is one is none";
}

TEST(facts, a_server_that_does_not_say_who_it_is_is_refused_with_what_to_do) {
  io::redis_facts f = a_server();
  struct refusal {
    const char* said;
    const char* advice;
  };
  const refusal all[]{
      {"NOPERM this user has no permissions", "allow it with ACL SETUSER <user> +info"},
      {"ERR unknown command 'INFO', with args beginning with: ", "renamed or disabled"},
      {"BUSY Redis is busy running a script.", "each new connection asks again"},
      {"ERR something else", "each new connection asks again"},
  };
  for (const refusal& r : all) {
    f.info_refused = r.said;
    ASSERT_FALSE(facts::check(f));
    const std::string told = facts::check(f).error().message();
    EXPECT_NE(told.find(std::string("INFO: ") + r.said), std::string::npos) << told;
    for (const refusal& other : all) {
      const bool gives = told.find(other.advice) != std::string::npos;
      EXPECT_EQ(gives, std::string(r.advice) == other.advice) << told;
    }
  }
  f = a_server();
  f.run_id.clear();
  EXPECT_FALSE(facts::check(f));
}

TEST(facts, a_server_that_loads_its_data_is_asked_later) {
  io::redis_facts f = a_server();
  f.info["loading"] = "0";
  EXPECT_TRUE(facts::check(f));
  f.info["loading"] = "1";
  ASSERT_FALSE(facts::check(f));
  EXPECT_NE(facts::check(f).error().message().find("loading"), std::string::npos);
}

TEST(facts, a_server_that_is_too_old_is_named) {
  io::redis_facts f = a_server();
  for (const char* version : {"5.0.14", "2.8", "", "x", "-7"}) {
    f.version = version;
    ASSERT_FALSE(facts::check(f)) << version;
    EXPECT_NE(facts::check(f).error().message().find("6.0"), std::string::npos);
  }
  for (const char* version : {"6.0.0", "7.2.4", "10.1"}) {
    f.version = version;
    EXPECT_TRUE(facts::check(f)) << version;
  }
}

TEST(facts, durable_is_what_keeps_every_write_over_either_protocol) {
  EXPECT_TRUE(facts::is_durable(a_server(), config_of(safe, reply_kind::map)));
  EXPECT_TRUE(facts::is_durable(a_server(), config_of(safe, reply_kind::array)));
}

TEST(facts, nothing_less_is_durable) {
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"appendonly", "no"},
                                                        {"appendfsync", "everysec"},
                                                        {"appendfsync", "no"},
                                                        {"no-appendfsync-on-rewrite", "yes"}}) {
    auto weak = safe;
    for (auto& setting : weak) {
      if (setting.first == key) setting.second = value;
    }
    EXPECT_FALSE(facts::is_durable(a_server(), config_of(weak, reply_kind::map))) << key;
  }
  for (std::size_t missing : {0U, 1U, 3U}) {
    auto some = safe;
    some.erase(some.begin() + static_cast<std::ptrdiff_t>(missing));
    EXPECT_FALSE(facts::is_durable(a_server(), config_of(some, reply_kind::map)));
  }
}

TEST(facts, a_user_without_config_and_a_hostile_answer_prove_nothing) {
  const io::redis_facts f = a_server();
  const auto is_durable = [&](const reply& r) { return facts::is_durable(f, r); };
  EXPECT_FALSE(is_durable({.kind = reply_kind::error, .text = "NOPERM"}));
  EXPECT_FALSE(is_durable({}));
  EXPECT_FALSE(is_durable({.kind = reply_kind::integer, .integer = 1}));
  reply odd = config_of(safe, reply_kind::array);
  odd.elements.erase(odd.elements.begin());
  EXPECT_FALSE(is_durable(odd));
}

TEST(facts, a_rewrite_is_told_only_where_it_is_the_only_doubt) {
  const reply config = config_of(safe, reply_kind::map);
  EXPECT_FALSE(facts::is_rewriting(a_server(), config));
  for (const char* key : {"aof_rewrite_in_progress", "aof_rewrite_scheduled"}) {
    io::redis_facts f = a_server();
    f.info[key] = "1";
    EXPECT_TRUE(facts::is_rewriting(f, config)) << key;
    f.info["connected_slaves"] = "1";
    EXPECT_FALSE(facts::is_rewriting(f, config)) << key;
  }
  EXPECT_FALSE(facts::is_rewriting(a_server(), {}));
}

TEST(facts, durable_ends_where_info_shows_a_doubt) {
  const reply config = config_of(safe, reply_kind::map);
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"aof_enabled", "0"},
                                                        {"aof_last_write_status", "err"},
                                                        {"aof_rewrite_in_progress", "1"},
                                                        {"aof_rewrite_scheduled", "1"},
                                                        {"connected_slaves", "1"},
                                                        {"second_repl_offset", "77"}}) {
    io::redis_facts f = a_server();
    f.info[key] = value;
    EXPECT_FALSE(facts::is_durable(f, config)) << key;
    f.info.erase(key);
    EXPECT_FALSE(facts::is_durable(f, config)) << key << " is missing";
  }
}

}  // namespace
}  // namespace holdfast::engines::redlock
