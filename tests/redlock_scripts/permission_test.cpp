#include "engines/redlock/keys.hpp"
#include "tests/redlock_scripts/node.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace holdfast::redis_tests {
namespace {

/// One call of each script that runs every command it has on the way that does its work.
struct example {
  const redlock::script* run;
  std::vector<std::string> keys;
  std::vector<std::string> arguments;
};

const std::string node_key{redlock::node_key};
const std::string session = redlock::session_key("5e55");

std::vector<example> examples() {
  const std::vector<std::string> four{"a", redlock::token_key("a"), node_key, session};
  const std::vector<std::string> three{"held", redlock::token_key("held"), node_key};
  return {
      {&scripts::acquire, four, {value(2), "1000", "0", "life-1", "1"}},
      {&scripts::raise, three, {value(1), "50", "life-1", "1"}},
      {&scripts::repair, four, {value(2), "1000", "5", "life-1"}},
      {&scripts::release, {"held"}, {value(1)}},
      {&scripts::renew, {node_key, session, "held"}, {"life-1", "1000", value(1)}},
      {&scripts::renew_plain, {"held"}, {"1000", value(1)}},
      {&scripts::open, {node_key, session}, {"life-1", "1000", "host", "h"}},
      {&scripts::close, {session}, {}},
      {&scripts::deny, {node_key, session}, {"life-1", "me", "why"}},
      {&scripts::list, {}, {"0", "100"}},
      {&scripts::look, {node_key}, {}},
      {&scripts::seal, {node_key}, {"life-1", "2"}},
      {&scripts::write,
       {node_key},
       {"life-1", "1", "id", "life-2", "2", "run", "0", "60000", "cafe", "0", "0"}},
  };
}

/// A hint that is not given, or a key that is not shown: the rest of the work is still done.
bool does_without(const redlock::script& s, std::string_view command) {
  if (&s == &scripts::release) return command == "publish" || command == "pubsub|numsub";
  return &s == &scripts::list && command != "scan";
}

struct permission : testing::Test {
  void SetUp() override {
    waits.command({"SUBSCRIBE", redlock::free_channel("held")});
    renew();
  }
  void renew() {
    n.command({"FLUSHALL"});
    n.init();
    n.acquire("held", value(1));
  }
  /// A user with exactly these commands, beside what every call needs.
  connection user(const std::vector<std::string_view>& commands,
                  const std::vector<std::string>& keys = {"~*"}) {
    std::vector<std::string> rule{"ACL", "SETUSER", "u", "reset", "on", ">pw", "&holdfast:free:*"};
    rule.insert(rule.end(), keys.begin(), keys.end());
    rule.insert(rule.end(), {"-@all", "+evalsha"});
    for (const std::string_view c : commands) rule.push_back("+" + std::string(c));
    EXPECT_EQ(n.command(rule).text, "OK");
    return n.of.connect("u", "pw");
  }
  node n;
  connection waits{n.of.connect()};  ///< Without anybody who waits nothing is published.
};

TEST_F(permission, every_script_has_an_example_here) {
  const std::vector<example> all = examples();
  ASSERT_EQ(all.size(), scripts::all.size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].run, scripts::all[i]);
}

TEST_F(permission, the_commands_that_a_script_names_are_enough) {
  for (const example& e : examples()) {
    renew();
    connection by = user({e.run->commands.begin(), e.run->commands.end()});
    const answer a = n.run(by, *e.run, e.keys, e.arguments);
    EXPECT_NE(a.is, answer::kind::error) << e.run->name << ": " << a;
  }
  EXPECT_EQ(n.command({"ACL", "LOG"}), array({})) << "a command was refused on the way";
}

TEST_F(permission, a_missing_command_is_named_with_its_key) {
  for (const example& e : examples()) {
    for (const std::string_view missing : e.run->commands) {
      renew();
      std::vector<std::string_view> commands(e.run->commands.begin(), e.run->commands.end());
      std::erase(commands, missing);
      connection by = user(commands);
      n.command({"ACL", "LOG", "RESET"});
      const answer a = n.run(by, *e.run, e.keys, e.arguments);
      if (!does_without(*e.run, missing)) {
        EXPECT_EQ(a.error_word(), "NOPERM") << e.run->name << " without " << missing << ": " << a;
        const bool has_key = missing != "time" && missing != "scan";
        const std::string named = "'" + std::string(missing) + (has_key ? "' on '" : "'");
        EXPECT_NE(a.text.find(named), std::string::npos) << a;
      } else {
        EXPECT_FALSE(n.command({"ACL", "LOG"}).elements.empty())
            << e.run->name << " does not need " << missing;
      }
    }
  }
}

TEST_F(permission, a_missing_key_is_refused_before_anything_is_done) {
  const answer before = n.command({"DBSIZE"});
  for (const example& e : examples()) {
    if (e.keys.empty()) continue;
    connection by = user({e.run->commands.begin(), e.run->commands.end()}, {"~other:*"});
    const answer a = n.run(by, *e.run, e.keys, e.arguments);
    EXPECT_EQ(a.error_word(), "NOPERM") << e.run->name << ": " << a;
  }
  EXPECT_EQ(n.command({"DBSIZE"}), before);
}

TEST_F(permission, plain_use_needs_no_key_but_the_lock) {
  connection by =
      user({"set", "get", "mget", "pexpire", "del", "pubsub|numsub", "publish"}, {"~job:*"});
  EXPECT_EQ(by.command({"SET", "job:1", value(1), "NX", "PX", "5000"}).text, "OK");
  EXPECT_EQ(n.run(by, scripts::renew_plain, {"job:1"}, {"1000", value(1)}), text("1"));
  EXPECT_EQ(n.run(by, scripts::release, {"job:1"}, {value(1)}), integer(1));
  EXPECT_EQ(by.command({"SET", "other", value(1), "NX", "PX", "5000"}).error_word(), "NOPERM");
}

TEST_F(permission, a_lock_is_not_left_behind_when_its_last_command_is_refused) {
  connection by = user({"hmget", "hget", "time", "pttl", "get", "hset"});
  const example e = examples().front();
  EXPECT_EQ(n.run(by, *e.run, e.keys, e.arguments).error_word(), "NOPERM");
  EXPECT_EQ(n.command({"EXISTS", "a"}), integer(0));
}

TEST_F(permission, no_record_of_a_session_stays_that_could_not_be_given_an_end) {
  const answer before = n.command({"DBSIZE"});
  const std::vector<std::vector<std::string_view>> users{
      {"hmget", "hget", "hset", "time"},         // Redis 7 tells before the record is made.
      {"hmget", "hget", "hset", "time", "del"},  // Before that it is taken back.
  };
  for (const auto& commands : users) {
    connection by = user(commands);
    for (const example& e : examples()) {
      if (e.run != &scripts::open && e.run != &scripts::deny) continue;
      EXPECT_EQ(n.run(by, *e.run, e.keys, e.arguments).error_word(), "NOPERM") << e.run->name;
      EXPECT_EQ(n.command({"DBSIZE"}), before) << e.run->name;
    }
  }
}

}  // namespace
}  // namespace holdfast::redis_tests
