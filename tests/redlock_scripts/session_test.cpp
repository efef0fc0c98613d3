#include "engines/redlock/keys.hpp"
#include "tests/redlock_scripts/node.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::redis_tests {
namespace {

struct session_scripts : testing::Test {
  session_scripts() { n.init(); }
  std::string of(const std::string& session, const std::string& name) {
    return n.command({"HGET", redlock::session_key(session), name}).text;
  }
  bool exists(const std::string& session) {
    return n.command({"EXISTS", redlock::session_key(session)}).integer == 1;
  }
  /// Milliseconds of the server's clock.
  std::int64_t now() { return n.look().elements.at(0).integer / 1000; }
  std::int64_t end_of(const std::string& session) {
    return n.command({"PEXPIRETIME", redlock::session_key(session)}).integer;
  }
  node n;
};

TEST_F(session_scripts, open_writes_a_record_that_lives_for_the_ttl) {
  EXPECT_EQ(n.open("77"), integer(1));
  EXPECT_EQ(of("77", "host"), "somewhere");
  EXPECT_EQ(of("77", "pid"), "42");
  EXPECT_EQ(of("77", "ttl"), "10000");
  EXPECT_EQ(of("77", "denied"), "0");
  EXPECT_GT(n.left(redlock::session_key("77")), 6'000);
  EXPECT_LE(n.left(redlock::session_key("77")), 10'000);
}

TEST_F(session_scripts, open_may_be_repeated) {
  n.open("77");
  EXPECT_EQ(n.open("77"), integer(1));
}

TEST_F(session_scripts, open_refuses_a_denied_session_and_changes_nothing) {
  n.open("77");
  n.deny("77");
  EXPECT_EQ(n.open("77").error_word(), refusal::denied);
  EXPECT_EQ(of("77", "denied"), "1");
}

TEST_F(session_scripts, open_cannot_lift_a_denial_by_its_fields) {
  const std::vector<std::string> keys{std::string(redlock::node_key), redlock::session_key("77")};
  n.run(scripts::open, keys, {"life-1", "1000", "denied", "maybe", "ttl", "7"});
  EXPECT_EQ(of("77", "denied"), "0");
  EXPECT_EQ(of("77", "ttl"), "1000");
}

TEST_F(session_scripts, open_refuses_where_the_node_is_not_admitted_and_long_ttls) {
  EXPECT_EQ(n.open("77", {.nonce = "life-0"}).error_word(), refusal::not_admitted);
  EXPECT_EQ(n.open("77", {.ttl = "60001"}).error_word(), refusal::ttl);
  n.set_field("epoch", "0");
  EXPECT_EQ(n.open("77").error_word(), refusal::not_admitted);
  EXPECT_FALSE(exists("77"));
}

TEST_F(session_scripts, close_deletes_the_record_also_where_the_node_is_not_admitted) {
  EXPECT_EQ(n.close("5e55"), integer(1));
  EXPECT_FALSE(exists("5e55"));
  EXPECT_EQ(n.close("5e55"), integer(0));
  n.open("77");
  n.command({"DEL", "holdfast:node"});
  EXPECT_EQ(n.close("77"), integer(1));
}

TEST_F(session_scripts, close_keeps_a_denied_record) {
  n.deny("5e55");
  EXPECT_EQ(n.close("5e55"), integer(0));
  EXPECT_EQ(of("5e55", "denied"), "1");
}

TEST_F(session_scripts, deny_marks_the_record_and_keeps_it_for_longer_than_max_ttl) {
  const std::int64_t before = now();
  EXPECT_EQ(n.deny("5e55"), array({integer(1), integer(10'000)}));
  const std::int64_t after = now();
  EXPECT_EQ(of("5e55", "denied"), "1");
  EXPECT_EQ(of("5e55", "denied_by"), "an operator");
  EXPECT_EQ(of("5e55", "denied_why"), "it hangs");
  EXPECT_EQ(of("5e55", "host"), "somewhere");
  EXPECT_GT(end_of("5e55"), before + 60'600);
  EXPECT_LE(end_of("5e55"), after + 60'602);
}

TEST_F(session_scripts, denying_again_changes_nothing_but_the_time) {
  n.deny("5e55");
  n.command({"PEXPIRE", redlock::session_key("5e55"), "5000"});
  const std::int64_t before = now();
  const std::vector<std::string> keys{std::string(redlock::node_key), redlock::session_key("5e55")};
  EXPECT_EQ(n.run(scripts::deny, keys, {"life-1", "another", "too slow"}),
            array({integer(0), integer(10'000)}));
  EXPECT_EQ(of("5e55", "denied_by"), "an operator");
  EXPECT_GT(end_of("5e55"), before + 60'600);
}

TEST_F(session_scripts, deny_leaves_a_mark_where_there_is_no_record) {
  EXPECT_EQ(n.deny("77"), array({integer(2), integer(0)}));
  EXPECT_EQ(n.open("77").error_word(), refusal::denied);
  EXPECT_EQ(n.deny("77"), array({integer(2), integer(0)})) << "what deny made is no session";
}

TEST_F(session_scripts, deny_works_where_the_node_waits_but_not_after_a_loss) {
  n.set_field("epoch", "0");
  EXPECT_EQ(n.deny("5e55"), array({integer(1), integer(10'000)}));
  EXPECT_EQ(n.deny("77", "life-0").error_word(), refusal::not_admitted);
  n.command({"DEL", "holdfast:node"});
  EXPECT_EQ(n.deny("77").error_word(), refusal::not_admitted);
  EXPECT_FALSE(exists("77"));
}

TEST_F(session_scripts, deny_works_when_memory_is_out) {
  n.command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(n.deny("5e55"), array({integer(1), integer(10'000)}));
  EXPECT_EQ(n.deny("77"), array({integer(2), integer(0)})) << "also where there is no record";
  EXPECT_GT(n.left(redlock::session_key("77")), 60'000);
  EXPECT_EQ(n.acquire("x", value(1)).error_word(), refusal::denied);
}

TEST_F(session_scripts, a_reason_with_line_ends_makes_one_error_of_one_line) {
  const std::vector<std::string> keys{std::string(redlock::node_key), redlock::session_key("5e55")};
  n.run(scripts::deny, keys, {"life-1", "a\r\nb", "c\r\n+OK"});
  const answer a = n.acquire("x", value(1));
  EXPECT_EQ(a.error_word(), refusal::denied);
  EXPECT_EQ(a.text.find('\n'), std::string::npos);
  EXPECT_EQ(n.command({"PING"}).text, "PONG") << "the stream of replies must stay in step";
}

TEST_F(session_scripts, foreign_data_under_the_sessions_key_is_named) {
  n.command({"SET", redlock::session_key("77"), "x"});
  const answer a = n.acquire("a", value(1), {.session = "77"});
  EXPECT_EQ(a.error_word(), "WRONGTYPE");
  EXPECT_THAT(a.text, testing::EndsWith(": 'holdfast:session:77'"));
  EXPECT_EQ(n.open("77").error_word(), "WRONGTYPE");
}

}  // namespace
}  // namespace holdfast::redis_tests
