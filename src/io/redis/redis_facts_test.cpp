#include "io/redis/redis_facts.hpp"

#include "core/server_life.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace holdfast::io {
namespace {

using wire::reply;
using wire::reply_kind;

redis_facts a_server() {
  redis_facts f;
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

TEST(redis_facts, a_server_that_does_not_say_who_it_is_is_refused_with_what_to_do) {
  redis_facts f = a_server();
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
    ASSERT_FALSE(check_redis(f, "redlock"));
    const std::string text = check_redis(f, "redlock").error().message();
    EXPECT_NE(text.find(std::string("INFO: ") + r.said), std::string::npos) << text;
    for (const refusal& other : all) {
      const bool gives = text.find(other.advice) != std::string::npos;
      EXPECT_EQ(gives, std::string(r.advice) == other.advice) << text;
    }
  }
  f = a_server();
  f.run_id.clear();
  EXPECT_FALSE(check_redis(f, "redlock"));
}

TEST(redis_facts, a_run_id_is_one_word) {
  redis_facts f = a_server();
  for (const char* good : {"0", "9", "a", "z", "A", "Z", "-", "0a-Z"}) {
    f.run_id = good;
    EXPECT_TRUE(check_redis(f, "redlock")) << good;
  }
  for (const char* bad : {"/", ":", "@", "[", "`", "{", ",", ".", "a b", "a=", "a\n"}) {
    f.run_id = bad;
    EXPECT_FALSE(check_redis(f, "redlock")) << bad;
  }
  f.run_id = std::string(128, 'a');
  EXPECT_TRUE(check_redis(f, "redlock"));
  f.run_id += 'a';
  EXPECT_FALSE(check_redis(f, "redlock"));
}

TEST(redis_facts, a_role_is_told_in_our_words) {
  redis_facts f = a_server();
  EXPECT_EQ(role_of(f), "master");
  f.role = "slave";
  EXPECT_EQ(role_of(f), "replica");
}

TEST(redis_facts, a_later_info_that_names_no_process_is_taken_as_one_that_was_refused) {
  redis_facts f = a_server();
  const auto take = [&f](const std::string& text, reply_kind as = reply_kind::text) {
    return take_later_info(f, {.kind = as, .text = text});
  };
  EXPECT_TRUE(take("run_id:run-2\r\nrole:slave\r\n"));
  EXPECT_EQ(f.run_id, "run-2");
  EXPECT_EQ(f.role, "slave");
  EXPECT_TRUE(take("role:slave\r\nloading:1\r\n")) << "it says no more than that";
  EXPECT_EQ(f.run_id, "run-2");
  for (const std::string& bad : {std::string("a b"), std::string("a#b"), std::string(512, 'a')}) {
    EXPECT_FALSE(take("run_id:" + bad + "\r\nrole:master\r\nloading:0\r\n")) << bad;
    EXPECT_EQ(f.run_id, "run-2") << bad;
    EXPECT_EQ(f.role, "slave") << bad;
    EXPECT_EQ(f.info["loading"], "1") << bad;
  }
  EXPECT_FALSE(take("ERR run_id:run-3", reply_kind::error));
}

TEST(redis_facts, a_server_that_loads_its_data_is_asked_later) {
  redis_facts f = a_server();
  f.info["loading"] = "0";
  EXPECT_TRUE(check_redis(f, "redlock"));
  f.info["loading"] = "1";
  ASSERT_FALSE(check_redis(f, "redlock"));
  EXPECT_NE(check_redis(f, "redlock").error().message().find("loading"), std::string::npos);
}

TEST(redis_facts, a_server_that_is_too_old_is_named) {
  redis_facts f = a_server();
  for (const char* version : {"5.0.14", "2.8", "", "x", "-7"}) {
    f.version = version;
    ASSERT_FALSE(check_redis(f, "redlock")) << version;
    EXPECT_NE(check_redis(f, "redlock").error().message().find("6.0"), std::string::npos);
  }
  for (const char* version : {"6.0.0", "7.2.4", "10.1"}) {
    f.version = version;
    EXPECT_TRUE(check_redis(f, "redlock")) << version;
  }
}

TEST(redis_facts, every_write_is_kept_over_either_protocol) {
  EXPECT_TRUE(keeps_every_write(a_server(), config_of(safe, reply_kind::map)));
  EXPECT_TRUE(keeps_every_write(a_server(), config_of(safe, reply_kind::array)));
}

TEST(redis_facts, nothing_less_keeps_every_write) {
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"appendonly", "no"},
                                                        {"appendfsync", "everysec"},
                                                        {"appendfsync", "no"},
                                                        {"no-appendfsync-on-rewrite", "yes"}}) {
    auto weak = safe;
    for (auto& setting : weak) {
      if (setting.first == key) setting.second = value;
    }
    EXPECT_FALSE(keeps_every_write(a_server(), config_of(weak, reply_kind::map))) << key;
  }
  for (std::size_t missing : {0U, 1U, 3U}) {
    auto some = safe;
    some.erase(some.begin() + static_cast<std::ptrdiff_t>(missing));
    EXPECT_FALSE(keeps_every_write(a_server(), config_of(some, reply_kind::map)));
  }
}

TEST(redis_facts, a_user_without_config_and_a_hostile_answer_prove_nothing) {
  const redis_facts f = a_server();
  const auto is_durable = [&](const reply& r) { return keeps_every_write(f, r); };
  EXPECT_FALSE(is_durable({.kind = reply_kind::error, .text = "NOPERM"}));
  EXPECT_FALSE(is_durable({}));
  EXPECT_FALSE(is_durable({.kind = reply_kind::integer, .integer = 1}));
  reply odd = config_of(safe, reply_kind::array);
  odd.elements.erase(odd.elements.begin());
  EXPECT_FALSE(is_durable(odd));
  odd = config_of(safe, reply_kind::array);
  odd.elements.at(3).kind = reply_kind::error;
  EXPECT_FALSE(is_durable(odd)) << "'" << odd.elements[3].text << "' is an error";
}

TEST(redis_facts, a_life_is_the_process_and_the_name_of_data_that_it_was_promoted_with_or_copied) {
  const auto alone = core::server_life("run-1", "");
  const auto named = core::server_life("run-1", "repl-1");
  redis_facts f = a_server();
  EXPECT_EQ(life_of(f), alone) << "its name is not told";
  f.info["master_replid"] = "repl-1";
  EXPECT_EQ(life_of(f), alone) << "it was never a replica";
  f.info["total_net_repl_input_bytes"] = "0";
  EXPECT_EQ(life_of(f), alone);
  f.info.erase("second_repl_offset");
  EXPECT_EQ(life_of(f), alone) << "a server that tells neither";
  f.info["second_repl_offset"] = "77";
  EXPECT_EQ(life_of(f), named) << "promoted";
  f.info["second_repl_offset"] = "-1";
  f.info["total_net_repl_input_bytes"] = "5";
  EXPECT_EQ(life_of(f), named) << "promoted long ago";
  f.info["master_replid"] = "two words";
  EXPECT_EQ(life_of(f), alone) << "it could pass for more than one";
  f.info.erase("master_replid");
  EXPECT_EQ(life_of(f), alone);
}

TEST(redis_facts, a_rewrite_is_named_only_where_it_is_the_only_doubt) {
  const reply config = config_of(safe, reply_kind::map);
  EXPECT_FALSE(keeps_every_write_but_rewrites(a_server(), config));
  for (const char* key : {"aof_rewrite_in_progress", "aof_rewrite_scheduled"}) {
    redis_facts f = a_server();
    f.info[key] = "1";
    EXPECT_TRUE(keeps_every_write_but_rewrites(f, config)) << key;
    f.info[key] = "2";
    EXPECT_FALSE(keeps_every_write_but_rewrites(f, config)) << key << " says nothing";
    f.info.erase(key);
    EXPECT_FALSE(keeps_every_write_but_rewrites(f, config)) << key << " is missing";
    f.info[key] = "1";
    f.info["connected_slaves"] = "1";
    EXPECT_FALSE(keeps_every_write_but_rewrites(f, config)) << key;
  }
  EXPECT_FALSE(keeps_every_write_but_rewrites(a_server(), {}));
}

TEST(redis_facts, every_write_is_kept_only_while_info_shows_no_doubt) {
  const reply config = config_of(safe, reply_kind::map);
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"aof_enabled", "0"},
                                                        {"aof_last_write_status", "err"},
                                                        {"aof_rewrite_in_progress", "1"},
                                                        {"aof_rewrite_scheduled", "1"},
                                                        {"connected_slaves", "1"},
                                                        {"second_repl_offset", "77"}}) {
    redis_facts f = a_server();
    f.info[key] = value;
    EXPECT_FALSE(keeps_every_write(f, config)) << key;
    f.info.erase(key);
    EXPECT_FALSE(keeps_every_write(f, config)) << key << " is missing";
  }
}

}  // namespace
}  // namespace holdfast::io
