#include "engines/redis/scripts.hpp"
#include "tests/redis/store.hpp"

#include <fstream>
#include <set>
#include <sstream>

/// The ACL user that docs/redis.md gives is enough, and it is no more than the scripts name.

namespace holdfast::redis_engine_tests {
namespace {

class permission : public store_test {
 protected:
  /// The line of the documentation that begins with "user holdfast".
  static std::string documented() {
    std::ifstream page(HOLDFAST_DOCS "/redis.md");
    for (std::string line; std::getline(page, line);) {
      const auto at = line.find("user holdfast ");
      if (at != std::string::npos) return line.substr(at);
    }
    return {};
  }
};

TEST_F(permission, the_documented_user_is_allowed_all_that_is_done) {
  const std::string rule = documented();
  ASSERT_FALSE(rule.empty());
  server s({.users = "user default on nopass ~* &* +@all\n" + rule + "\n"});
  const auto o =
      open("redis://holdfast:secret@" + s.address() + "?assume_fresh=yes&max_ttl=" + max_ttl);
  await(o, status::ok);
  auto a = ask(o);
  member holder(a), waiter(a), denied(a), reader(a), third(a);
  const auto held = holder.enqueue("a");
  const auto mine = waiter.enqueue("a");
  denied.enqueue("a");
  reader.enqueue("a", mode::shared());
  holder.enqueue("p", mode::permits(1));
  third.enqueue("p", mode::permits(1));
  std::atomic<int> told{0};
  auto watch = o.engine->watch({lock_name("a"), mine.mine, mine.targets}, [&] { ++told; });
  EXPECT_EQ(a.deny({denied.id(), "op", "why"}).what, status::ok);
  EXPECT_EQ(holder.beat().what, status::ok);
  EXPECT_EQ(holder.leave("a", held.mine).what, status::ok);
  EXPECT_TRUE(process::eventually([&] { return told > 0; }));
  EXPECT_EQ(waiter.confirm("a", mine.mine).what, status::ok);
  EXPECT_EQ(a.list().what, status::ok);
  EXPECT_EQ(a.glance({.whom = {waiter.id()}, .others = 1}).there.size(), 2U);
  EXPECT_EQ(a.take({holder.id(), holder.record().at}).what, status::ok);
  EXPECT_EQ(waiter.close().what, status::ok);
  const auto log = s.command({"ACL", "LOG"}).elements;
  EXPECT_TRUE(log.empty()) << "refused: " << (log.empty() ? redis_tests::null() : log[0]);
}

TEST_F(permission, the_documented_user_may_do_no_more_than_the_scripts_need) {
  std::set<std::string> needed{"evalsha",        "script|load", "select", "info",
                               "config|get",     "acl|dryrun",  "role",   "wait",
                               "client|setname", "subscribe"};
  for (const auto* script : engines::redis::scripts::all) {
    needed.insert(script->commands.begin(), script->commands.end());
  }
  std::set<std::string> given;
  std::istringstream words(documented());
  for (std::string word; words >> word;) {
    if (word.starts_with('+')) given.insert(word.substr(1));
  }
  EXPECT_EQ(given, needed);
}

TEST_F(permission, a_right_to_run_scripts_that_is_taken_away_says_that_nothing_was_done) {
  server s({.users = "user default on nopass ~* &* +@all\n" + documented() + "\n"});
  const auto o =
      open("redis://holdfast:secret@" + s.address() + "?assume_fresh=yes&max_ttl=" + max_ttl);
  await(o, status::ok);
  auto a = ask(o);
  member m(a);
  s.command({"ACL", "SETUSER", "holdfast", "-evalsha"});
  const auto opened = a.open(conformance::draft_of(conformance::fresh_id()));
  EXPECT_EQ(opened.what, status::unavailable) << opened.text;
  EXPECT_NE(opened.text.find("'evalsha'"), std::string::npos) << opened.text;
  EXPECT_EQ(m.enqueue("a").what, status::unavailable);
  EXPECT_EQ(m.beat().what, status::unavailable);
  s.command({"ACL", "SETUSER", "holdfast", "+evalsha"});
  EXPECT_EQ(m.beat().what, status::ok);
}

// Whoever waits looks by himself.
TEST_F(permission, a_message_that_may_not_be_sent_keeps_no_lock_from_being_released) {
  server s({.users = "user default on nopass ~* &* +@all\n" + documented() + "\n"});
  const auto o =
      open("redis://holdfast:secret@" + s.address() + "?assume_fresh=yes&max_ttl=" + max_ttl);
  await(o, status::ok);
  auto a = ask(o);
  member holder(a), waiter(a);
  const auto held = holder.enqueue("a");
  const auto mine = waiter.enqueue("a");
  ASSERT_EQ(mine.what, status::queued) << mine.text;
  s.command({"ACL", "SETUSER", "holdfast", "-publish"});
  const auto left = holder.leave("a", held.mine);
  EXPECT_EQ(left.what, status::ok) << left.text;
  EXPECT_EQ(waiter.confirm("a", mine.mine).what, status::ok);
}

TEST_F(permission, a_refused_command_is_named) {
  server s({.users = "user default on nopass ~* &* +@all\n"
                     "user holdfast on >secret ~holdfast:* &* +@all -zadd\n"});
  const auto o =
      open("redis://holdfast:secret@" + s.address() + "?assume_fresh=yes&max_ttl=" + max_ttl);
  await(o, status::ok);
  member m(ask(o));
  const auto v = m.enqueue("a");
  EXPECT_EQ(v.what, status::unknown) << "something may have been written";
  EXPECT_NE(v.text.find("zadd"), std::string::npos) << v.text;
}

}  // namespace
}  // namespace holdfast::redis_engine_tests
