#include "tests/redlock_scripts/node.hpp"

#include <gtest/gtest.h>

namespace holdfast::redis_tests {
namespace {

struct admission_scripts : testing::Test {
  node n;
};

TEST_F(admission_scripts, look_tells_the_time_where_there_is_no_record) {
  const answer a = n.look();
  ASSERT_EQ(a.elements.size(), 1U) << a;
  EXPECT_GT(a.elements[0].integer, 1'700'000'000'000'000);
}

TEST_F(admission_scripts, look_reads_what_write_wrote) {
  ASSERT_EQ(n.write({.floor = "4503599627370495", .durable = "1", .kept_epoch = "3"}), integer(1));
  const answer a = n.look();
  ASSERT_EQ(a.elements.size(), 11U) << a;
  const std::string last = a.elements[7].text;
  EXPECT_EQ(answer(array({a.elements[0], text("node-1"), text("life-1"), text("1"), text("run-1"),
                          text("4503599627370495"), text("60000"), text(last), text("cafe"),
                          text("1"), text("3")})),
            a);
  EXPECT_LE(std::stoll(last), a.elements[0].integer);
  EXPECT_GT(std::stoll(last), a.elements[0].integer - 10'000'000);
}

TEST_F(admission_scripts, look_shows_fields_that_are_missing) {
  n.write({});
  n.command({"HDEL", "holdfast:node", "floor"});
  const answer a = n.look();
  ASSERT_EQ(a.elements.size(), 11U);
  EXPECT_EQ(a.elements[5], null());
}

TEST_F(admission_scripts, init_writes_only_where_there_is_no_record) {
  EXPECT_EQ(n.write({}), integer(1));
  EXPECT_EQ(n.write({.nonce = "life-2"}), integer(0));
  EXPECT_EQ(n.field("nonce"), "life-1");
}

TEST_F(admission_scripts, init_leaves_other_keys_alone) {
  n.command({"SET", "a", "1"});
  EXPECT_EQ(n.write({}), integer(1));
  EXPECT_EQ(n.command({"GET", "a"}), text("1"));
}

TEST_F(admission_scripts, write_compares_nonce_and_epoch) {
  n.write({});
  EXPECT_EQ(n.write({.seen_nonce = "life-0", .seen_epoch = "1"}), integer(0));
  EXPECT_EQ(n.write({.seen_nonce = "life-1", .seen_epoch = "2"}), integer(0));
  EXPECT_EQ(n.write({.seen_nonce = "life-1", .seen_epoch = "1", .nonce = "life-2", .epoch = "0"}),
            integer(1));
  EXPECT_EQ(n.field("nonce"), "life-2");
  EXPECT_EQ(n.write({.seen_nonce = "life-1", .seen_epoch = "1"}), integer(0));
  n.command({"DEL", "holdfast:node"});
  EXPECT_EQ(n.write({.seen_nonce = "life-2", .seen_epoch = "0"}), integer(0));
  EXPECT_EQ(n.command({"EXISTS", "holdfast:node"}), integer(0));
}

TEST_F(admission_scripts, write_keeps_the_larger_floor) {
  n.init();
  n.acquire("a", value(1), {.hint = "499"});
  n.write({.seen_nonce = "life-1", .seen_epoch = "1", .epoch = "2", .floor = "20"});
  EXPECT_EQ(n.floor(), 500U);
  n.write({.seen_nonce = "life-1", .seen_epoch = "2", .epoch = "3", .floor = "600"});
  EXPECT_EQ(n.floor(), 600U);
}

TEST_F(admission_scripts, write_replaces_a_damaged_floor_where_something_begins_anew) {
  for (const char* damage : {"damaged", "", "-7", "nan", "inf", "4503599627370496",
                             "9007199254740991", "9223372036854775807"}) {
    n.command({"FLUSHALL"});
    n.init();
    n.set_field("floor", damage);
    const answer on = n.write({.seen_nonce = "life-1", .seen_epoch = "1", .floor = "700"});
    EXPECT_EQ(on, integer(0)) << damage << ": the tokens that it gave may be above 700";
    EXPECT_EQ(n.field("floor"), damage);
    n.write({.seen_nonce = "life-1", .seen_epoch = "1", .epoch = "2", .floor = "700"});
    EXPECT_EQ(n.field("floor"), "700") << damage;
  }
}

TEST_F(admission_scripts, a_damaged_floor_has_no_vote_and_is_told_to_nobody) {
  n.init();
  n.acquire("a", value(1));
  for (const char* damage : {"4503599627370496", "9007199254740991", "-1", "nan", "x"}) {
    n.set_field("floor", damage);
    EXPECT_EQ(n.acquire("b", value(2)).error_word(), refusal::not_admitted) << damage;
    EXPECT_EQ(n.raise("a", value(1), 50).error_word(), refusal::not_admitted) << damage;
    EXPECT_EQ(n.repair("b", value(2), 50).error_word(), refusal::not_admitted) << damage;
    EXPECT_EQ(n.renew({{"a", value(1)}}).error_word(), refusal::not_admitted) << damage;
    EXPECT_EQ(n.seal("2").error_word(), refusal::not_admitted) << damage;
    EXPECT_EQ(n.field("floor"), damage);
  }
}

TEST_F(admission_scripts, write_refuses_floors_that_no_token_can_follow) {
  EXPECT_EQ(n.write({.floor = "4503599627370496"}).error_word(), refusal::counter);
  EXPECT_EQ(n.write({.floor = "-1"}), integer(1)) << "the floor of no record is zero";
  EXPECT_EQ(n.floor(), 0U);
}

TEST_F(admission_scripts, a_lost_state_gets_a_name_and_then_nothing_votes_until_the_rejoin) {
  n.init();
  n.command({"FLUSHALL"});
  EXPECT_EQ(n.acquire("a", value(1)).error_word(), refusal::not_admitted);
  EXPECT_EQ(n.write({.nonce = "life-2", .epoch = "0"}), integer(1));
  const node::acquire_arguments to{.nonce = "life-2", .epoch = "0"};
  EXPECT_EQ(n.acquire("a", value(1), to).error_word(), refusal::not_admitted);
  EXPECT_EQ(n.open("5e55", to).error_word(), refusal::not_admitted);
  EXPECT_EQ(n.seal("5", "life-2").error_word(), refusal::not_admitted);
  EXPECT_EQ(n.write({.seen_nonce = "life-2",
                     .seen_epoch = "0",
                     .nonce = "life-2",
                     .epoch = "5",
                     .floor = "40"}),
            integer(1));
  EXPECT_EQ(n.open("5e55", to), integer(1));
  EXPECT_EQ(n.acquire("a", value(1), {.nonce = "life-2", .epoch = "5"}), integer(41));
}

TEST_F(admission_scripts, a_durable_restart_only_changes_the_run_id) {
  n.init();
  n.acquire("a", value(1));
  EXPECT_EQ(n.write({.seen_nonce = "life-1", .seen_epoch = "1", .run_id = "run-2"}), integer(1));
  EXPECT_EQ(n.field("run_id"), "run-2");
  EXPECT_EQ(n.renew({{"a", value(1)}}), text("1"));
}

TEST_F(admission_scripts, write_accepts_the_clock_as_it_is) {
  n.init();
  n.set_field("last_time", std::to_string(token_max));
  n.write({.seen_nonce = "life-1", .seen_epoch = "1", .epoch = "2"});
  EXPECT_EQ(n.acquire("a", value(1), {.epoch = "2"}), integer(1));
}

TEST_F(admission_scripts, a_clock_that_went_back_is_still_behind_when_nothing_begins_anew) {
  n.init();
  const std::string ahead = std::to_string(token_max);
  n.set_field("last_time", ahead);
  n.write({.seen_nonce = "life-1", .seen_epoch = "1", .run_id = "run-2"});
  EXPECT_EQ(n.field("last_time"), ahead);
  EXPECT_EQ(n.acquire("a", value(1)).error_word(), refusal::clock_went_back);
}

TEST_F(admission_scripts, seal_lifts_the_epoch_and_reads_the_floor) {
  n.init();
  n.acquire("a", value(1), {.hint = "499"});
  EXPECT_EQ(n.seal("2"), integer(500));
  EXPECT_EQ(n.field("epoch"), "2");
  EXPECT_EQ(n.floor(), 500U);
}

TEST_F(admission_scripts, seal_refuses_an_epoch_that_is_not_above_its_own) {
  n.init();
  n.seal("7");
  for (const char* epoch : {"7", "6", "0", "-1", "x", "nan", "inf", "9007199254740992"}) {
    const answer a = n.seal(epoch);
    EXPECT_EQ(a.error_word(), refusal::epoch) << epoch;
    EXPECT_EQ(a.text.substr(0, 10), "HFEPOCH 7 ") << a;
  }
  EXPECT_EQ(n.field("epoch"), "7");
}

TEST_F(admission_scripts, seal_refuses_another_nonce_and_no_record) {
  EXPECT_EQ(n.seal("2").error_word(), refusal::not_admitted);
  n.init();
  EXPECT_EQ(n.seal("2", "life-0").error_word(), refusal::not_admitted);
  EXPECT_EQ(n.field("epoch"), "1");
}

TEST_F(admission_scripts, write_and_seal_work_when_memory_is_out) {
  n.write({});
  n.command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(n.write({.seen_nonce = "life-1", .seen_epoch = "1", .durable = "1"}), integer(1));
  EXPECT_EQ(n.field("durable"), "1");
  EXPECT_EQ(n.seal("2"), integer(0));
  EXPECT_EQ(n.field("epoch"), "2");
  EXPECT_EQ(n.command({"DBSIZE"}), integer(1));
}

TEST_F(admission_scripts, a_record_that_is_not_whole_is_no_record) {
  for (const char* name : {"nonce", "epoch", "floor", "max_ttl", "last_time"}) {
    n.command({"FLUSHALL"});
    n.init();
    n.command({"HDEL", "holdfast:node", name});
    EXPECT_EQ(n.acquire("a", value(1)).error_word(), refusal::not_admitted) << name;
    EXPECT_EQ(n.seal("2").error_word(), refusal::not_admitted) << name;
  }
  n.command({"FLUSHALL"});
  n.init();
  n.set_field("floor", "damaged");
  EXPECT_EQ(n.acquire("a", value(1)).error_word(), refusal::not_admitted);
}

TEST_F(admission_scripts, foreign_data_under_the_records_key_is_named) {
  n.command({"SET", "holdfast:node", "x"});
  EXPECT_EQ(n.look().error_word(), "WRONGTYPE");
  EXPECT_EQ(n.write({}).error_word(), "WRONGTYPE");
  EXPECT_EQ(n.acquire("a", value(1)).error_word(), "WRONGTYPE");
}

}  // namespace
}  // namespace holdfast::redis_tests
