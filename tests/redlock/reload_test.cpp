#include "tests/redlock/five_nodes.hpp"
#include "tests/succeeded.hpp"

#include <holdfast/store.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

/// Redis 7 drops the transactions of its append-only file that its default user may not run.

namespace holdfast::redlock_tests {

namespace {

using testing::HasSubstr;
using testing::Not;

server::options synced_with(const std::string& default_user) {
  return {.append_only = true,
          .fsync = "always",
          .users = "user default " + default_user + "\nuser bob on >secret ~* &* +@all\n"};
}

std::string diagnosis(const std::string& url) {
  auto st = store::open(url);
  if (!st) return st.error().message();
  const auto told = st->diagnose();
  if (!told) return told.error().message();
  std::string all;
  for (const finding& f : *told) all += f.text + "\n";
  return all;
}

/// Fault matrix: restart of nodes with `appendfsync always` whose default user may not run what
/// scripts write | they count as not synced: nobody is granted what is held, and `doctor` says why
TEST(redlock_reload, nodes_that_drop_what_they_synced_do_not_vote_at_once) {
  five_nodes nodes(3, synced_with("on nopass ~* &* +@all -hset"));
  const std::string url = as_user("bob:secret", nodes.url("ttl=20s"));
  const auto made = redlock::init(url, {.max_ttl = 20s});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(diagnosis(url), HasSubstr("drops what scripts wrote"));
  EXPECT_THAT(diagnosis(url), HasSubstr("ACL SETUSER default ~* &* +@all"));
  auto holder = holdfast::open(url);
  ASSERT_TRUE(holder) << holder.error().message();
  const auto held = holder->acquire(lock_name("a"));
  ASSERT_TRUE(held) << held.error().message();
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes.restart(i, server::data::keep);
  const auto look = redlock::status(url);
  ASSERT_TRUE(look) << look.error().message();
  EXPECT_EQ(look->votes, 0U);
  auto other = holdfast::open(as_user("bob:secret", nodes.url("ttl=20s", 1)));
  EXPECT_FALSE(other && other->try_acquire(lock_name("a")).has_value())
      << "granted beside its holder";
}

/// The record of a node is of all its users, whatever names of locks each of them may use.
TEST(redlock_reload, the_default_user_finds_that_what_others_synced_is_dropped) {
  five_nodes nodes(3, synced_with("on nopass ~holdfast:* ~mine:* &* +@all"));
  const auto made = redlock::init(nodes.url("ttl=20s"), {.max_ttl = 20s});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(diagnosis(nodes.url("ttl=20s")), HasSubstr("drops what scripts wrote"));
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes.restart(i, server::data::keep);
  EXPECT_EQ(nodes.look("ttl=20s").votes, 0U);
}

/// Fault matrix: the same where the default user may | they vote at once and keep locks and tokens
TEST(redlock_reload, nodes_whose_default_user_may_write_keep_what_they_synced) {
  five_nodes nodes(3, synced_with("on nopass ~* &* +@all"));
  const std::string url = as_user("bob:secret", nodes.url("ttl=20s"));
  const auto made = redlock::init(url, {.max_ttl = 20s});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(diagnosis(url), HasSubstr("every write is synced"));
  EXPECT_THAT(diagnosis(url), Not(HasSubstr("drops what scripts wrote")));
  auto holder = holdfast::open(url);
  ASSERT_TRUE(holder) << holder.error().message();
  const auto held = holder->acquire(lock_name("a"));
  ASSERT_TRUE(held) << held.error().message();
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes.restart(i, server::data::keep);
  EXPECT_TRUE(nodes.votes_come_to(3, "ttl=20s", 10s));
  auto other = holdfast::open(as_user("bob:secret", nodes.url("ttl=20s", 1)));
  ASSERT_TRUE(other) << other.error().message();
  EXPECT_FALSE(other->try_acquire(lock_name("a")).has_value());
  const auto next = other->try_acquire(lock_name("b"));
  ASSERT_TRUE(next) << next.error().message();
  EXPECT_GT(next->token(), held->token());
}

TEST(redlock_reload, a_user_that_may_not_ask_is_told_which_right_to_add) {
  five_nodes nodes(1, {.append_only = true,
                       .fsync = "always",
                       .users = "user default on nopass ~* &* +@all\n"
                                "user bob on >secret ~* &* +@all -acl\n"});
  nodes.init();
  EXPECT_THAT(diagnosis(as_user("bob:secret", nodes.url())), HasSubstr("Allow +acl|dryrun"));
}

}  // namespace

}  // namespace holdfast::redlock_tests
