#include "engines/redlock/keys.hpp"
#include "tests/redlock_scripts/node.hpp"
#include "tests/redlock_scripts/raw_stream.hpp"

#include <gtest/gtest.h>

#include <set>

namespace holdfast::redis_tests {
namespace {

const std::string node_key{redlock::node_key};
const std::string session = redlock::session_key("5e55");

TEST(catalogue, has_the_sha1_that_the_server_computes) {
  node n;
  for (const redlock::script* s : scripts::all) {
    EXPECT_EQ(n.command({"SCRIPT", "LOAD", std::string(s->text)}), text(std::string(s->sha1)))
        << s->name;
  }
}

TEST(catalogue, names_every_script_once) {
  std::set<std::string_view> names;
  for (const redlock::script* s : scripts::all) {
    EXPECT_TRUE(names.insert(s->name).second) << s->name;
    EXPECT_FALSE(s->commands.empty()) << s->name;
  }
}

TEST(catalogue, keeps_every_key_under_the_reserved_prefix) {
  for (const std::string& key : {std::string(redlock::node_key), redlock::token_key("x"),
                                 redlock::session_key("x"), redlock::free_channel("x")}) {
    EXPECT_TRUE(key.starts_with(redlock::reserved_prefix)) << key;
  }
}

struct wire : testing::TestWithParam<const char*> {
  wire() : stream(n.of.port()) {
    n.init();
    EXPECT_FALSE(stream.command({"HELLO", GetParam()}).starts_with("-"));
    for (const redlock::script* s : scripts::all) {
      n.command({"SCRIPT", "LOAD", std::string(s->text)});
    }
  }
  std::string run(const redlock::script& s, const std::vector<std::string>& keys,
                  const std::vector<std::string>& arguments) {
    std::vector<std::string> parts{"EVALSHA", std::string(s.sha1), std::to_string(keys.size())};
    parts.insert(parts.end(), keys.begin(), keys.end());
    parts.insert(parts.end(), arguments.begin(), arguments.end());
    return stream.command(parts);
  }
  std::string acquire(int v, const std::string& hint = "0") {
    return run(scripts::acquire, {"a", redlock::token_key("a"), node_key, session},
               {value(v), "10000", hint, "life-1", "1"});
  }
  node n;
  raw_stream stream;
};

TEST_P(wire, carries_the_largest_token_exactly) {
  n.set_field("floor", std::to_string(token_max - 1));
  EXPECT_TRUE(acquire(1).starts_with("*2\r\n:4503599627370495\r\n:1"));
  EXPECT_EQ(run(scripts::seal, {node_key}, {"life-1", "2"}), ":4503599627370495\r\n");
}

TEST_P(wire, has_the_same_answers) {
  EXPECT_TRUE(acquire(1).starts_with("*2\r\n:1\r\n:1"));
  EXPECT_TRUE(acquire(2).starts_with("*3\r\n:0\r\n:1"));
  const std::string renewed =
      run(scripts::renew, {node_key, session, "a", "b"}, {"life-1", "1000", value(1), value(1)});
  EXPECT_TRUE(renewed.starts_with("*2\r\n$2\r\n10\r\n:1")) << renewed;
  EXPECT_EQ(run(scripts::release, {"a"}, {value(1)}), ":1\r\n");
  EXPECT_EQ(run(scripts::release, {"a"}, {value(1)}), ":0\r\n");
  EXPECT_EQ(run(scripts::deny, {node_key, session}, {"life-1", "me", "why"}),
            "*2\r\n:1\r\n:10000\r\n");
  EXPECT_EQ(acquire(3), "-HFDENIED by me: why\r\n");
  n.command({"HDEL", "holdfast:node", "id"});
  const bool resp3 = std::string(GetParam()) == "3";
  EXPECT_NE(run(scripts::look, {node_key}, {}).find(resp3 ? "_\r\n" : "$-1\r\n"),
            std::string::npos);
  const std::string page = run(scripts::list, {}, {"0", "100"});
  EXPECT_EQ(page.substr(0, 11), "*4\r\n$1\r\n0\r\n") << page;
  EXPECT_EQ(page.find('%'), std::string::npos) << "fields are an array in both protocols";
}

INSTANTIATE_TEST_SUITE_P(protocol, wire, testing::Values("2", "3"));

}  // namespace
}  // namespace holdfast::redis_tests
