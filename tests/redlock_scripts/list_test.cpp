#include "tests/redlock_scripts/node.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace holdfast::redis_tests {
namespace {

const std::string session_id(32, 'e');

struct list_script : testing::Test {
  list_script() { n.init(); }

  struct listing {
    std::map<std::string, answer> sessions{};
    std::map<std::string, answer> locks{};
    std::string withheld{};
    int pages{};
  };
  listing all(connection& by, const std::string& count = "100") {
    listing l;
    std::string cursor = "0";
    do {
      const answer page = n.run(by, scripts::list, {}, {cursor, count});
      if (page.elements.size() != 4) {
        ADD_FAILURE() << page;
        return l;
      }
      cursor = page.elements[0].text;
      for (const answer& s : page.elements[1].elements) l.sessions[s.elements.at(0).text] = s;
      for (const answer& s : page.elements[2].elements) l.locks[s.elements.at(0).text] = s;
      if (!page.elements[3].text.empty()) l.withheld = page.elements[3].text;
      ++l.pages;
    } while (cursor != "0");
    return l;
  }
  listing all() {
    connection c = n.of.connect();
    return all(c);
  }
  node n;
};

TEST_F(list_script, shows_sessions_with_their_fields) {
  n.open("77");
  n.deny("77");
  const listing l = all();
  ASSERT_EQ(l.sessions.size(), 2U);
  const answer& s = l.sessions.at("77");
  EXPECT_GT(s.elements.at(1).integer, 55'000);
  const std::vector<answer>& fields = s.elements.at(2).elements;
  const auto why = std::find(fields.begin(), fields.end(), text("denied_why"));
  ASSERT_NE(why, fields.end());
  EXPECT_EQ(*(why + 1), text("it hangs"));
}

TEST_F(list_script, shows_locks_with_value_time_left_and_token) {
  const std::string whole = value(1) + "." + session_id;
  n.acquire("a", whole);
  n.raise("a", whole, 7);
  const listing l = all();
  ASSERT_EQ(l.locks.size(), 1U);
  const answer& a = l.locks.at("a");
  EXPECT_EQ(a.elements.at(1), text(whole));
  EXPECT_GT(a.elements.at(2).integer, 6'000);
  EXPECT_EQ(a.elements.at(3), integer(7));
}

TEST_F(list_script, shows_no_token_that_no_script_has_written) {
  n.acquire("a", value(1) + "." + session_id);
  const auto shown_for = [&](const std::string& token) {
    n.command({"SET", "holdfast:token:a", "1:" + token});
    return all().locks.at("a").elements.at(3);
  };
  EXPECT_EQ(shown_for("9007199254740991"), integer(9'007'199'254'740'991));
  EXPECT_EQ(shown_for("9007199254740992"), integer(0));
}

TEST_F(list_script, shows_locks_without_tokens_too) {
  n.command({"SET", "a", value(1), "NX", "PX", "10000"});
  EXPECT_EQ(all().locks.at("a").elements.at(3), integer(0));
}

TEST_F(list_script, leaves_out_what_is_not_a_lock) {
  n.command({"SET", "without a ttl", value(1)});
  n.command({"SET", "too short", "abc", "PX", "10000"});
  n.command({"SET", "not digits", std::string(40, 'z'), "PX", "10000"});
  n.command({"SET", "no dot", std::string(73, 'a'), "PX", "10000"});
  n.command(
      {"SET", "dot elsewhere", std::string(39, 'a') + "." + std::string(33, 'a'), "PX", "10000"});
  n.command({"SET", "no id", value(1) + "." + std::string(32, 'z'), "PX", "10000"});
  n.command({"SET", "large", std::string(1'000'000, 'a'), "PX", "10000"});
  n.command({"HSET", "hash", "f", "1"});
  n.command({"RPUSH", "list", "1"});
  n.command({"SET", "holdfast:session:string", "x"});
  const listing l = all();
  EXPECT_TRUE(l.locks.empty());
  EXPECT_EQ(l.sessions.size(), 1U);
}

TEST_F(list_script, comes_in_pages) {
  for (int i = 0; i < 300; ++i) n.acquire("job" + std::to_string(i), value(i));
  connection c = n.of.connect();
  const listing l = all(c, "50");
  EXPECT_EQ(l.locks.size(), 300U);
  EXPECT_GT(l.pages, 5);
}

TEST_F(list_script, skips_what_the_user_may_not_read_and_tells_of_it) {
  n.acquire("ours:a", value(1));
  n.acquire("theirs:a", value(2));
  n.command({"ACL", "SETUSER", "half", "on", ">pw", "~ours:*", "~holdfast:*", "+@all"});
  connection by = n.of.connect("half", "pw");
  const listing l = all(by);
  EXPECT_EQ(l.locks.size(), 1U);
  EXPECT_EQ(l.sessions.size(), 1U);
  EXPECT_EQ(l.withheld, "theirs:a");
  EXPECT_EQ(all().withheld, "");
}

TEST_F(list_script, tells_of_a_lock_of_which_the_user_may_not_read_all) {
  n.acquire("theirs:a", value(1));
  // Its length; that and how long it stays; that and its value.
  for (const auto* rights :
       {"%W~theirs:*", "(+strlen +pttl ~theirs:*)", "(+strlen +get ~theirs:*)"}) {
    SCOPED_TRACE(rights);
    n.command({"ACL", "SETUSER", "half", "reset", "on", ">pw", "+@all", "~holdfast:*", rights});
    connection by = n.of.connect("half", "pw");
    const listing l = all(by);
    EXPECT_TRUE(l.locks.empty());
    EXPECT_EQ(l.withheld, "theirs:a");
  }
}

TEST_F(list_script, reads_no_value_of_a_length_that_no_lock_has) {
  n.command({"SET", "large", std::string(1'000'000, 'a'), "PX", "10000"});
  n.acquire("a", value(1));
  n.command({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(all().locks.size(), 1U);
  EXPECT_EQ(n.of.calls("get"), 2) << "the lock, and its token";
}

TEST_F(list_script, tells_of_no_key_that_can_be_no_lock) {
  n.command({"SET", std::string(513, 'a'), value(1), "PX", "10000"});
  n.command({"SET", "a\nb", value(1), "PX", "10000"});
  n.command({"ACL", "SETUSER", "half", "on", ">pw", "~ours:*", "~holdfast:*", "+@all"});
  connection by = n.of.connect("half", "pw");
  EXPECT_EQ(all(by).withheld, "");
  const std::string longest(512, 'a');
  n.command({"SET", longest, value(1), "PX", "10000"});
  EXPECT_EQ(all(by).withheld, longest);
}

TEST_F(list_script, fails_where_the_user_lacks_what_it_needs) {
  n.acquire("a", value(1) + "." + session_id);
  const auto said = [&](const std::string& rule) {
    n.command({"ACL", "SETUSER", "half", "reset", "on", ">pw", "~*", "+@all", rule});
    connection by = n.of.connect("half", "pw");
    return n.run(by, scripts::list, {}, {"0", "100"}).text;
  };
  EXPECT_EQ(said("-strlen"), "NOPERM this user may not run 'strlen' on 'a'");
  EXPECT_EQ(said("-pttl").substr(0, 36), "NOPERM this user may not run 'pttl' ");
  EXPECT_EQ(said("-get"), "NOPERM this user may not run 'get' on 'a'");
  EXPECT_EQ(said("-scan"), "NOPERM this user may not run 'scan'");
  EXPECT_EQ(said("-hgetall"), "NOPERM this user may not run 'hgetall' on 'holdfast:session:5e55'");
  n.command({"ACL", "SETUSER", "half", "reset", "on", ">pw", "~a", "~holdfast:s*", "+@all"});
  connection by = n.of.connect("half", "pw");
  EXPECT_EQ(n.run(by, scripts::list, {}, {"0", "100"}).text,
            "NOPERM this user may not run 'get' on the key 'holdfast:token:a'");
}

}  // namespace
}  // namespace holdfast::redis_tests
