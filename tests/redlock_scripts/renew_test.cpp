#include "engines/redlock/keys.hpp"
#include "tests/redlock_scripts/node.hpp"

#include <gtest/gtest.h>

namespace holdfast::redis_tests {
namespace {

using locks = std::vector<std::pair<std::string, std::string>>;

struct renew_script : testing::Test {
  renew_script() { n.init(); }
  std::int64_t session_left() { return n.left(redlock::session_key("5e55")); }
  answer renew_plain(const std::vector<std::string>& keys, std::vector<std::string> arguments) {
    return n.run(scripts::renew_plain, keys, arguments);
  }
  node n;
};

TEST_F(renew_script, extends_our_locks_and_the_session) {
  n.acquire("a", value(1), {.ttl = "5000"});
  n.acquire("b", value(2), {.ttl = "5000"});
  EXPECT_EQ(n.renew({{"a", value(1)}, {"b", value(2)}}, {.ttl = "30000"}), text("11"));
  EXPECT_GT(n.left("a"), 20'000);
  EXPECT_GT(n.left("b"), 20'000);
  EXPECT_GT(session_left(), 20'000);
  EXPECT_LE(session_left(), 30'000);
}

TEST_F(renew_script, keeps_the_counter_of_a_lock_for_as_long_as_it_is_held) {
  n.acquire("a", value(1), {.ttl = "5000"});
  n.acquire("b", value(2), {.ttl = "5000"});
  n.command({"PEXPIRE", redlock::token_key("a"), "5000"});
  n.command({"PEXPIRE", redlock::token_key("b"), "5000"});
  EXPECT_EQ(n.renew({{"a", value(1)}, {"b", value(3)}}), text("10"));
  EXPECT_GT(n.left(redlock::token_key("a")), 100'000);
  EXPECT_LE(n.left(redlock::token_key("b")), 5'000) << "it is another one's";
}

TEST_F(renew_script, answers_for_each_lock_and_never_puts_one_back) {
  n.acquire("ours", value(1));
  n.acquire("lost", value(2));
  n.acquire("anothers", value(3));
  n.release("lost", value(2));
  n.release("anothers", value(3));
  n.command({"SET", "anothers", value(9), "PX", "5000"});
  n.command({"HSET", "foreign", "f", "1"});
  EXPECT_EQ(n.renew({{"lost", value(2)},
                     {"ours", value(1)},
                     {"anothers", value(3)},
                     {"foreign", value(4)},
                     {"never", value(5)}}),
            text("01000"));
  EXPECT_EQ(n.command({"EXISTS", "lost", "never"}), integer(0));
  EXPECT_LE(n.left("anothers"), 5'000);
  EXPECT_EQ(n.left("foreign"), -1);
}

TEST_F(renew_script, extends_a_hundred_locks_at_once_and_not_one_more) {
  locks all;
  for (int i = 0; i < 100; ++i) {
    all.emplace_back("job" + std::to_string(i), value(i));
    n.acquire(all.back().first, i % 3 == 0 ? value(1'000) : value(i), {.ttl = "5000"});
  }
  std::string ours;
  for (int i = 0; i < 100; ++i) ours += i % 3 == 0 ? '0' : '1';
  EXPECT_EQ(n.renew(all), text(ours));
  EXPECT_LE(n.left("job0"), 5'000);
  EXPECT_GT(n.left("job98"), 6'000);
  all.emplace_back("job100", value(100));
  EXPECT_EQ(n.renew(all).error_word(), "ERR");
}

TEST_F(renew_script, keeps_a_session_without_locks) {
  n.command({"PEXPIRE", redlock::session_key("5e55"), "5000"});
  EXPECT_EQ(n.renew({}), text(""));
  EXPECT_GT(session_left(), 6'000);
}

TEST_F(renew_script, refuses_a_missing_session_and_creates_none) {
  n.acquire("a", value(1), {.ttl = "5000"});
  n.command({"DEL", redlock::session_key("5e55")});
  EXPECT_EQ(n.renew({{"a", value(1)}}).error_word(), refusal::no_session);
  EXPECT_LE(n.left("a"), 5'000);
  EXPECT_EQ(n.command({"EXISTS", redlock::session_key("5e55")}), integer(0));
}

TEST_F(renew_script, refuses_a_denied_session) {
  n.acquire("a", value(1), {.ttl = "5000"});
  n.deny("5e55");
  EXPECT_EQ(n.renew({{"a", value(1)}}).text, "HFDENIED by an operator: it hangs");
  EXPECT_LE(n.left("a"), 5'000);
}

TEST_F(renew_script, refuses_where_the_node_is_not_admitted) {
  n.acquire("a", value(1), {.ttl = "5000"});
  EXPECT_EQ(n.renew({{"a", value(1)}}, {.nonce = "life-0"}).error_word(), refusal::not_admitted);
  n.set_field("epoch", "0");
  EXPECT_EQ(n.renew({{"a", value(1)}}).error_word(), refusal::not_admitted);
  EXPECT_LE(n.left("a"), 5'000);
}

TEST_F(renew_script, does_not_ask_for_the_epoch) {
  n.acquire("a", value(1));
  n.seal("9");
  EXPECT_EQ(n.renew({{"a", value(1)}}), text("1"));
}

TEST_F(renew_script, refuses_ttls_above_max_ttl_and_a_clock_that_went_back) {
  n.acquire("a", value(1), {.ttl = "5000"});
  EXPECT_EQ(n.renew({{"a", value(1)}}, {.ttl = "60001"}).error_word(), refusal::ttl);
  n.set_field("last_time", std::to_string(token_max));
  EXPECT_EQ(n.renew({{"a", value(1)}}).error_word(), refusal::clock_went_back);
  EXPECT_LE(n.left("a"), 5'000);
}

TEST_F(renew_script, remembers_the_time) {
  const std::int64_t before = n.look().elements.at(0).integer;
  n.renew({});
  EXPECT_GE(std::stoll(n.field("last_time")), before);
}

TEST_F(renew_script, works_when_memory_is_out) {
  n.acquire("a", value(1), {.ttl = "5000"});
  n.command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(n.renew({{"a", value(1)}}), text("1"));
  EXPECT_GT(n.left("a"), 6'000);
}

TEST_F(renew_script, does_the_same_without_tokens_nor_a_record) {
  n.command({"FLUSHALL"});
  n.command({"SET", "a", value(1), "NX", "PX", "5000"});
  n.command({"HSET", "foreign", "f", "1"});
  EXPECT_EQ(renew_plain({"a", "gone", "foreign"}, {"30000", value(1), value(2), value(3)}),
            text("100"));
  EXPECT_GT(n.left("a"), 20'000);
  EXPECT_EQ(n.command({"DBSIZE"}), integer(2));
  EXPECT_EQ(renew_plain({}, {"30000"}), text(""));
  EXPECT_EQ(renew_plain(std::vector<std::string>(101, "a"), {"1"}).error_word(), "ERR");
}

}  // namespace
}  // namespace holdfast::redis_tests
