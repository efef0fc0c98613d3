#include "tests/redlock_scripts/node.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::redis_tests {
namespace {

using arguments = node::acquire_arguments;

struct acquire_script : testing::Test {
  acquire_script() { n.init(); }
  node n;
};

TEST_F(acquire_script, gives_a_free_lock_with_its_ttl_and_a_counter) {
  EXPECT_EQ(n.acquire("nightly", value(1)), integer(1));
  EXPECT_EQ(n.command({"GET", "nightly"}), text(value(1)));
  EXPECT_GT(n.left("nightly"), 6'000);
  EXPECT_LE(n.left("nightly"), 10'000);
}

TEST_F(acquire_script, leaves_a_taken_lock_alone_and_says_how_long_it_lives) {
  n.acquire("nightly", value(1));
  const answer second = n.acquire("nightly", value(2));
  ASSERT_EQ(second.elements.size(), 1U) << second;
  EXPECT_GT(second.elements[0].integer, 6'000);
  EXPECT_LE(second.elements[0].integer, 10'000);
  EXPECT_EQ(n.command({"GET", "nightly"}), text(value(1)));
  EXPECT_EQ(n.floor(), 1U) << "a refused attempt must not use up a token";
}

TEST_F(acquire_script, does_not_give_the_same_value_twice) {
  n.acquire("nightly", value(1));
  EXPECT_EQ(n.acquire("nightly", value(1)).is, answer::kind::array);
}

TEST_F(acquire_script, counts_up_with_every_grant_of_a_name) {
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(n.acquire("nightly", value(i)), integer(i));
    EXPECT_EQ(n.release("nightly", value(i)), integer(1));
  }
}

TEST_F(acquire_script, keeps_the_counter_of_a_name_apart_from_other_names) {
  n.acquire("a", value(1));
  n.release("a", value(1));
  EXPECT_EQ(n.acquire("b", value(2), {.hint = "1000"}), integer(1'001));
  EXPECT_EQ(n.acquire("a", value(3)), integer(2));
  EXPECT_EQ(n.floor(), 1'001U);
}

TEST_F(acquire_script, falls_back_to_the_floor_when_the_cache_is_lost) {
  n.acquire("a", value(1));
  n.release("a", value(1));
  n.acquire("b", value(2), {.hint = "1000"});
  ASSERT_EQ(n.command({"DEL", "holdfast:token:a"}), integer(1));
  EXPECT_EQ(n.acquire("a", value(3)), integer(1'002));
}

TEST_F(acquire_script, falls_back_to_the_floor_when_the_cache_is_of_another_epoch) {
  n.acquire("a", value(1));
  n.release("a", value(1));
  n.acquire("b", value(2), {.hint = "1000"});
  ASSERT_EQ(n.seal("2"), integer(1'001));
  EXPECT_EQ(n.acquire("a", value(3), {.epoch = "2"}), integer(1'002));
}

TEST_F(acquire_script, heeds_no_cache_that_is_above_the_floor_or_unreadable) {
  for (const char* cache : {"1:9007199254740990", "1:99999999999999999999", "1:x", "", "1:-5"}) {
    n.command({"SET", "holdfast:token:a", cache});
    n.command({"DEL", "a"});
    const std::uint64_t before = n.floor();
    EXPECT_EQ(n.acquire("a", value(1)), integer(static_cast<std::int64_t>(before) + 1)) << cache;
  }
}

TEST_F(acquire_script, forgets_the_cache_after_twice_max_ttl) {
  n.acquire("a", value(1));
  EXPECT_GT(n.left("holdfast:token:a"), 100'000);
  EXPECT_LE(n.left("holdfast:token:a"), 120'000);
  EXPECT_EQ(n.left("holdfast:node"), -1);
}

TEST_F(acquire_script, takes_the_larger_of_counter_and_hint) {
  EXPECT_EQ(n.acquire("a", value(1), {.hint = "500"}), integer(501));
  n.release("a", value(1));
  EXPECT_EQ(n.acquire("a", value(2), {.hint = "7"}), integer(502));
}

TEST_F(acquire_script, heeds_hints_up_to_a_day_after_its_own_time) {
  const std::int64_t now = n.look().elements.at(0).integer;
  const std::int64_t hour = 3'600'000'000;
  EXPECT_EQ(n.acquire("a", value(1), {.hint = std::to_string(now + 23 * hour)}),
            integer(now + 23 * hour + 1));
  const std::uint64_t before = n.floor();
  for (const std::string& hint :
       {std::to_string(now + 25 * hour), std::to_string(token_max),
        std::string("9223372036854775807"), std::string("1e300"), std::string("nan"),
        std::string("inf"), std::string("-1"), std::string("x"), std::string()}) {
    n.command({"DEL", "b", "holdfast:token:b"});
    EXPECT_LE(n.acquire("b", value(2), {.hint = hint}).integer,
              static_cast<std::int64_t>(before) + 20)
        << hint;
  }
}

TEST_F(acquire_script, gives_tokens_up_to_2_to_the_52_and_none_above) {
  n.set_field("floor", std::to_string(token_max - 2));
  const auto limit = static_cast<std::int64_t>(token_max);
  EXPECT_EQ(n.acquire("a", value(1)), integer(limit - 1));
  EXPECT_EQ(n.acquire("b", value(2)), integer(limit));
  EXPECT_EQ(n.field("floor"), "4503599627370495");
  EXPECT_EQ(n.command({"GET", "holdfast:token:b"}), text("1:4503599627370495"));
  EXPECT_EQ(n.acquire("c", value(3)).error_word(), refusal::counter);
  EXPECT_EQ(n.command({"EXISTS", "c"}), integer(0));
  EXPECT_EQ(n.floor(), token_max);
}

TEST_F(acquire_script, refuses_a_ttl_above_max_ttl_and_names_it) {
  EXPECT_EQ(n.acquire("a", value(1), {.ttl = "60000"}), integer(1));
  for (const char* ttl : {"60001", "0", "-5", "x", "", "nan", "inf"}) {
    const answer a = n.acquire("b", value(2), {.ttl = ttl});
    EXPECT_EQ(a.error_word(), refusal::ttl) << ttl;
    EXPECT_NE(a.text.find("HFTTL 60000 ms"), std::string::npos) << a;
  }
  EXPECT_EQ(n.command({"EXISTS", "b"}), integer(0));
}

TEST_F(acquire_script, refuses_another_nonce_and_another_epoch) {
  EXPECT_EQ(n.acquire("a", value(1), {.nonce = "life-0"}).error_word(), refusal::not_admitted);
  EXPECT_EQ(n.acquire("a", value(1), {.nonce = ""}).error_word(), refusal::not_admitted);
  n.seal("7");
  for (const char* epoch : {"1", "6", "8", "", "7.0"}) {
    const answer a = n.acquire("a", value(1), {.epoch = epoch});
    EXPECT_EQ(a.error_word(), refusal::epoch) << epoch;
    EXPECT_EQ(a.text.substr(0, 10), "HFEPOCH 7 ") << "the node's epoch must be the second word";
  }
  EXPECT_EQ(n.command({"EXISTS", "a"}), integer(0));
  EXPECT_EQ(n.acquire("a", value(1), {.epoch = "7"}), integer(1));
}

TEST_F(acquire_script, needs_the_session_on_this_node) {
  EXPECT_EQ(n.acquire("a", value(1), {.session = "other"}).error_word(), refusal::no_session);
  n.deny("5e55");
  const answer a = n.acquire("a", value(1));
  EXPECT_EQ(a.text, "HFDENIED by an operator: it hangs");
  EXPECT_EQ(n.command({"EXISTS", "a"}), integer(0));
}

TEST_F(acquire_script, refuses_when_time_went_back) {
  const std::int64_t now = n.look().elements.at(0).integer;
  n.set_field("last_time", std::to_string(now + 3'600'000'000));
  const answer a = n.acquire("a", value(1));
  EXPECT_EQ(a.error_word(), refusal::clock_went_back) << a;
  EXPECT_EQ(n.command({"EXISTS", "a"}), integer(0));
  EXPECT_EQ(n.field("last_time"), std::to_string(now + 3'600'000'000));
}

TEST_F(acquire_script, remembers_the_time_of_every_grant) {
  const std::int64_t before = n.look().elements.at(0).integer;
  n.acquire("a", value(1));
  const std::int64_t last = std::stoll(n.field("last_time"));
  EXPECT_GE(last, before);
  EXPECT_LE(last, n.look().elements.at(0).integer);
}

TEST_F(acquire_script, finds_every_type_of_foreign_key_taken) {
  const std::vector<std::vector<std::string>> keys{
      {"HSET", "a", "f", "1"}, {"RPUSH", "a", "1"},          {"SADD", "a", "1"},
      {"ZADD", "a", "1", "m"}, {"XADD", "a", "*", "f", "v"}, {"SET", "a", ""}};
  for (const std::vector<std::string>& make : keys) {
    n.command({"DEL", "a"});
    ASSERT_NE(n.command(make).is, answer::kind::error);
    EXPECT_EQ(n.acquire("a", value(1)), array({integer(-1)})) << make[0];
    EXPECT_EQ(n.command({"PTTL", "a"}), integer(-1)) << make[0];
  }
}

TEST_F(acquire_script, takes_any_bytes_as_names_and_values) {
  const std::string name("a\0b\r\n\xff", 6);
  const std::string bytes("\0\r\n\xfe", 4);
  EXPECT_EQ(n.acquire(name, bytes), integer(1));
  EXPECT_EQ(n.command({"GET", name}), text(bytes));
  EXPECT_EQ(n.release(name, bytes), integer(1));
}

TEST_F(acquire_script, leaves_no_lock_when_memory_is_out) {
  n.command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(n.acquire("a", value(1)).error_word(), "OOM");
  n.command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(n.command({"EXISTS", "a"}), integer(0));
}

TEST_F(acquire_script, names_a_replica_by_the_servers_own_word) {
  n.command({"REPLICAOF", "127.0.0.1", "1"});
  EXPECT_EQ(n.acquire("a", value(1)).error_word(), "READONLY");
}

// tokens=off: no script, what every other Redlock client sends.
TEST_F(acquire_script, agrees_with_plain_set_nx_px_on_who_has_the_lock) {
  const auto plain = [&](int v) { return n.command({"SET", "a", value(v), "NX", "PX", "10000"}); };
  EXPECT_EQ(n.acquire("a", value(1)), integer(1));
  EXPECT_EQ(plain(2), null());
  n.release("a", value(1));
  EXPECT_EQ(plain(3).text, "OK");
  EXPECT_EQ(n.acquire("a", value(4)).is, answer::kind::array);
}

}  // namespace
}  // namespace holdfast::redis_tests
