#include "tests/redlock_scripts/node.hpp"

#include <gtest/gtest.h>

namespace holdfast::redis_tests {
namespace {

/// After any loss of state every script that grants or extends must refuse, and the two that only
/// free must work.
void expect_not_admitted(node& n) {
  EXPECT_EQ(n.acquire("a", value(9)).error_word(), refusal::not_admitted);
  EXPECT_EQ(n.raise("a", value(1), 50).error_word(), refusal::not_admitted);
  EXPECT_EQ(n.repair("a", value(1), 50).error_word(), refusal::not_admitted);
  EXPECT_EQ(n.renew({{"a", value(1)}}).error_word(), refusal::not_admitted);
  EXPECT_EQ(n.open("77").error_word(), refusal::not_admitted);
  EXPECT_EQ(n.deny("5e55").error_word(), refusal::not_admitted);
  EXPECT_EQ(n.seal("2").error_word(), refusal::not_admitted);
  EXPECT_EQ(n.look().elements.size(), 1U);
  EXPECT_EQ(n.close("5e55"), integer(0));
  EXPECT_EQ(n.release("a", value(1)), integer(0));
  EXPECT_EQ(n.command({"DBSIZE"}), integer(0)) << "nothing may have been written";
}

TEST(losses, flushall_and_flushdb_are_seen_by_every_script) {
  for (const char* how : {"FLUSHALL", "FLUSHDB"}) {
    node n;
    n.init();
    n.acquire("a", value(1));
    n.command({how});
    expect_not_admitted(n);
  }
}

TEST(losses, swapdb_and_another_database_are_seen_by_every_script) {
  node n;
  n.init();
  n.acquire("a", value(1));
  n.command({"SWAPDB", "0", "1"});
  expect_not_admitted(n);
  n.command({"SELECT", "1"});
  EXPECT_EQ(n.renew({{"a", value(1)}}), text("1"));
}

TEST(losses, a_restart_without_persistence_is_seen_by_every_script) {
  node n;
  n.init();
  n.acquire("a", value(1));
  n.of.kill();
  n.of.start();
  expect_not_admitted(n);
}

TEST(losses, a_restart_with_its_files_wiped_is_seen_by_every_script) {
  node n({.append_only = true, .fsync = "always"});
  n.init();
  n.acquire("a", value(1));
  n.of.kill();
  n.of.start(server::data::wipe);
  expect_not_admitted(n);
}

TEST(losses, a_durable_restart_keeps_record_lock_session_and_counter) {
  for (const bool clean : {false, true}) {
    node n({.append_only = true, .fsync = "always"});
    n.init();
    n.acquire("a", value(1), {.hint = "40"});
    clean ? n.of.shutdown() : n.of.kill();
    n.of.start();
    EXPECT_EQ(n.renew({{"a", value(1)}}), text("1")) << clean;
    EXPECT_EQ(n.release("a", value(1)), integer(1));
    EXPECT_EQ(n.acquire("a", value(2)), integer(42));
  }
}

TEST(losses, another_life_under_an_old_connection_is_told_by_its_nonce) {
  node n;
  n.init();
  n.acquire("a", value(1));
  n.command({"FLUSHALL"});
  n.init({.nonce = "life-2"});
  EXPECT_EQ(n.acquire("a", value(2)).error_word(), refusal::not_admitted);
  EXPECT_EQ(n.renew({{"a", value(1)}}).error_word(), refusal::not_admitted);
  EXPECT_EQ(n.acquire("a", value(2), {.nonce = "life-2"}), integer(1));
}

TEST(losses, forgotten_scripts_are_told_apart_from_a_refusal) {
  node n;
  n.init();
  n.acquire("a", value(1));
  n.command({"SCRIPT", "FLUSH"});
  const answer a = n.command({"EVALSHA", std::string(scripts::release.sha1), "1", "a", value(1)});
  EXPECT_EQ(a.error_word(), "NOSCRIPT");
  EXPECT_EQ(n.command({"GET", "a"}), text(value(1)));
}

}  // namespace
}  // namespace holdfast::redis_tests
