#include "core/lease.hpp"
#include "tests/process/child.hpp"
#include "tests/redlock/five_nodes.hpp"
#include "tests/succeeded.hpp"

#include <holdfast/election.hpp>
#include <holdfast/redlock.hpp>
#include <holdfast/store.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

namespace holdfast::redlock_tests {

using process::eventually;
using testing::HasSubstr;

namespace {

class redlock_basics : public testing::Test {
 protected:
  redlock_basics() { nodes.init(); }
  five_nodes nodes;
};

TEST_F(redlock_basics, a_lock_is_one_key_on_every_node_and_gone_after_its_release) {
  session s = nodes.open();
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  EXPECT_GT(l->token().value, 0U);
  EXPECT_TRUE(succeeded(l->check(1s)));
  EXPECT_LE(l->remaining(), 5s);
  EXPECT_TRUE(nodes.comes_to("a", 5));
  EXPECT_LE(nodes.longest("a"), 5s);
  EXPECT_TRUE(succeeded(std::move(*l).release()));
  EXPECT_TRUE(nodes.comes_to("a", 0));
}

TEST_F(redlock_basics, what_a_handler_began_is_ended_by_any_thread) {
  session s = nodes.open("ttl=5s&node_timeout=1s");
  for (std::size_t i = 0; i < 3; ++i) nodes.stop(i);
  std::atomic<bool> began{};
  std::atomic<bool> ended{};
  std::optional<errc> said;
  s.acquire(lock_name("a"), {}, [&](const result<lock>&) {
    s.acquire(lock_name("b"), {}, [&](result<lock> l) {
      said = l ? errc{} : l.error().code();
      ended = true;
    });
    began = true;
  });
  EXPECT_TRUE(eventually([&] { return began.load(); }));
  EXPECT_TRUE(s.close());
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
  EXPECT_EQ(said, errc::lost);
  for (std::size_t i = 0; i < 3; ++i) nodes.resume(i);
  EXPECT_TRUE(nodes.comes_to("b", 0));
}

TEST_F(redlock_basics, many_names_are_held_at_once_and_closing_the_session_frees_them) {
  session s = nodes.open();
  std::vector<lock> held;
  for (int i = 0; i < 250; ++i) {
    auto l = s.try_acquire(lock_name("n" + std::to_string(i)));
    ASSERT_TRUE(l) << l.error().message();
    held.push_back(std::move(*l));
  }
  EXPECT_TRUE(nodes.comes_to("n249", 5));
  EXPECT_TRUE(s.close());
  for (const lock& l : held) EXPECT_EQ(l.check().error(), errc::lost);
  EXPECT_TRUE(nodes.comes_to("n0", 0));
  EXPECT_TRUE(nodes.comes_to("n249", 0));
}

TEST_F(redlock_basics, locks_are_extended_for_as_long_as_the_session_lives) {
  session s = nodes.open("ttl=3s");
  std::vector<lock> held;
  for (int i = 0; i < 150; ++i) {
    auto l = s.try_acquire(lock_name("n" + std::to_string(i)));
    ASSERT_TRUE(l) << l.error().message();
    held.push_back(std::move(*l));
  }
  std::this_thread::sleep_for(4500ms);
  for (const lock& l : held) EXPECT_TRUE(succeeded(l.check()));
  EXPECT_LE(nodes.longest("n149"), 3s);
}

TEST_F(redlock_basics, a_try_right_after_a_script_flush_is_answered) {
  session s = nodes.open();
  session rival = nodes.open();
  for (const std::size_t flushed : {5U, 3U, 5U, 4U}) {
    for (std::size_t i = 0; i < flushed; ++i) nodes[i].command({"SCRIPT", "FLUSH"});
    auto l = s.try_acquire(lock_name("a"));
    ASSERT_TRUE(l) << flushed << " nodes: " << l.error().message();
    nodes.everywhere({"SCRIPT", "FLUSH"});
    const auto second = rival.try_acquire(lock_name("a"));
    EXPECT_EQ(second.error(), errc::busy) << second.error().message();
    EXPECT_TRUE(succeeded(l->check()));
    EXPECT_TRUE(succeeded(std::move(*l).release()));
    EXPECT_TRUE(nodes.comes_to("a", 0));
  }
}

TEST(redlock_operators, ask_only_stores_that_have_nodes) {
  for (const char* other : {"local:/nobody/made/it", "memory:x"}) {
    const auto seen = redlock::status(other);
    ASSERT_FALSE(seen) << other;
    EXPECT_EQ(seen.error(), errc::unsupported) << seen.error().message();
  }
  EXPECT_EQ(redlock::status("quorum://h").error(), errc::invalid_argument);
}

TEST_F(redlock_basics, the_names_of_the_engine_are_refused) {
  session s = nodes.open();
  for (const char* name : {"holdfast:node", "holdfast:token:a", "holdfast:x"}) {
    EXPECT_EQ(s.try_acquire(lock_name(name)).error(), errc::invalid_argument) << name;
  }
  EXPECT_EQ(nodes[0].command({"TYPE", "holdfast:node"}).text, "hash");
}

TEST_F(redlock_basics, a_ttl_above_max_ttl_is_refused) {
  const auto by_url = holdfast::open(nodes.url("ttl=5s&max_ttl=4s"));
  EXPECT_EQ(by_url.error(), errc::invalid_argument);
  EXPECT_THAT(by_url.error().message(), HasSubstr("4s"));
  // The nodes were set up with 60 s, whatever the URL says.
  const auto by_nodes = holdfast::open(nodes.url("ttl=90s&max_ttl=100s"));
  EXPECT_EQ(by_nodes.error(), errc::invalid_argument);
  EXPECT_THAT(by_nodes.error().message(), HasSubstr("max_ttl"));
}

TEST(redlock_max_ttl, is_that_of_the_nodes_where_the_url_gives_none) {
  five_nodes nodes(1);
  nodes.init(5min);
  session s = nodes.open("ttl=2m");
  EXPECT_TRUE(succeeded(s.try_acquire(lock_name("a"))));
  const auto longer = holdfast::open(nodes.url("ttl=6m"));
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error(), errc::invalid_argument);
  EXPECT_NE(longer.error().message().find("5m"), std::string::npos) << longer.error().message();
}

TEST(redlock_max_ttl, below_the_default_ttl_is_the_default) {
  five_nodes nodes(1);
  nodes.init(20s);
  EXPECT_EQ(nodes.open("tokens=on").ttl(), 20s);
  EXPECT_EQ(nodes.open("max_ttl=60s").ttl(), 20s);
  EXPECT_EQ(nodes.open("max_ttl=10s").ttl(), 10s);
  EXPECT_EQ(holdfast::open(nodes.url("ttl=30s")).error(), errc::invalid_argument);
  EXPECT_EQ(holdfast::open(nodes.url("tokens=on"), {.ttl = 30s}).error(), errc::invalid_argument);
}

TEST(redlock_max_ttl, that_differs_between_nodes_is_what_a_majority_allows) {
  five_nodes nodes;
  nodes.init(20s);
  for (const std::size_t i : {3U, 4U}) {
    nodes[i].command({"HSET", "holdfast:node", "max_ttl", "60000"});
  }
  nodes[2].command({"HSET", "holdfast:node", "max_ttl", "10000"});
  nodes.kill(0);
  session s = nodes.open("tokens=on");
  EXPECT_EQ(s.ttl(), 20s) << "10 s is what one node says, and three allow more";
  const auto all = store::open(nodes.url("tokens=on", 1)).value().list();
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(all->sessions.size(), 1U) << "that of the first try is gone";
  EXPECT_FALSE(all->sessions.at(0).beats) << "the nodes count none";
}

/// Fault matrix: an ACL without SCAN or HGETALL, which no lock needs | max_ttl is not made shorter,
/// for nobody sees whether a session has a longer ttl
TEST(redlock_max_ttl, is_not_made_shorter_where_nobody_sees_the_sessions) {
  five_nodes nodes(3);
  nodes.init();
  nodes.everywhere({"ACL", "SETUSER", "bob", "on", ">secret", "~*", "&*", "+@all"});
  const std::string as_bob = as_user("bob:secret", nodes.url());
  auto s = holdfast::open(as_bob, {.ttl = 20s});
  ASSERT_TRUE(s) << s.error().message();
  for (const char* command : {"scan", "hgetall"}) {
    nodes.everywhere({"ACL", "SETUSER", "bob", "+@all", std::string("-") + command});
    const auto done = redlock::recover(as_bob, {.max_ttl = 10s});
    ASSERT_FALSE(done) << "a holder with 20s is there";
    EXPECT_EQ(done.error(), errc::unavailable);
    EXPECT_THAT(done.error().message(), HasSubstr("a ttl above 10s cannot be seen"));
    EXPECT_THAT(done.error().message(), HasSubstr(std::string("'") + command));
  }
  for (const auto& n : nodes.look().nodes) EXPECT_EQ(n.max_ttl, 60s);
  EXPECT_TRUE(succeeded(redlock::recover(as_bob, {.max_ttl = 90s})));
}

TEST_F(redlock_basics, the_record_of_a_session_that_was_not_opened_is_deleted) {
  nodes.stop(3);
  nodes.kill(4);
  session s = nodes.open("ttl=60s");
  for (const std::size_t i : {1U, 2U}) nodes[i].command({"DEL", "holdfast:node"});
  // Three nodes are asked, and one of them records it. Then one more votes, and still too few do.
  std::thread later([&] {
    std::this_thread::sleep_for(300ms);
    nodes.resume(3);
  });
  const auto no = holdfast::open(nodes.url("ttl=60s"));
  later.join();
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error(), errc::unavailable);
  EXPECT_THAT(no.error().message(), HasSubstr("2 of 5 nodes vote"));
  EXPECT_TRUE(eventually([&] {
    return nodes[0].command({"KEYS", "holdfast:session:*"}).elements.size() == 1;
  })) << "that of the session that is open";
}

TEST_F(redlock_basics, a_key_of_another_program_is_busy_on_a_majority_only) {
  session s = nodes.open();
  for (std::size_t i = 0; i < 3; ++i) nodes[i].command({"SET", "a", "theirs"});
  for (std::size_t i = 0; i < 2; ++i) nodes[i].command({"SET", "b", "theirs"});
  EXPECT_EQ(s.try_acquire(lock_name("a")).error(), errc::busy);
  auto l = s.try_acquire(lock_name("b"));
  ASSERT_TRUE(l) << l.error().message();
  EXPECT_TRUE(succeeded(std::move(*l).release()));
  EXPECT_TRUE(nodes.comes_to("a", 3));
  EXPECT_TRUE(nodes.comes_to("b", 2));
  EXPECT_EQ(nodes[0].command({"GET", "b"}).text, "theirs");
}

TEST_F(redlock_basics, a_key_of_another_type_is_never_overwritten) {
  session s = nodes.open();
  for (std::size_t i = 0; i < 3; ++i) nodes[i].command({"HSET", "a", "field", "1"});
  EXPECT_FALSE(s.try_acquire(lock_name("a")).has_value());
  EXPECT_EQ(nodes[0].command({"HGET", "a", "field"}).text, "1");
  EXPECT_TRUE(nodes.comes_to("a", 3));
}

TEST_F(redlock_basics, what_a_denied_session_held_is_free_as_soon_as_its_keys_have_ended) {
  session s = nodes.open("ttl=2s");
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  auto view = store::open(nodes.url("ttl=5s", 1));
  ASSERT_TRUE(view) << view.error().message();
  auto denied = view->deny(s.id(), "an operator", "a test");
  ASSERT_TRUE(denied) << denied.error().message();
  EXPECT_EQ(denied->free_within, core::takeover_after(2s)) << "no waiter has to look on for it";
  EXPECT_TRUE(nodes.comes_to("a", 0));
}

TEST_F(redlock_basics, a_lock_is_listed_as_long_as_a_majority_may_have_it) {
  session s = nodes.open("ttl=60s");  // No renewal repairs what is deleted here.
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  ASSERT_TRUE(nodes.comes_to("a", 5));
  const std::string left_behind(40, 'a');
  for (std::size_t i = 0; i < 2; ++i) nodes[i].command({"SET", "b", left_behind, "PX", "60000"});
  for (std::size_t i = 0; i < 2; ++i) nodes[i].command({"DEL", "a"});
  auto view = store::open(nodes.url("ttl=5s", 1));
  ASSERT_TRUE(view) << view.error().message();
  const auto names = [&] {
    std::vector<std::string> found;
    const auto all = view->list();
    EXPECT_TRUE(all) << all.error().message();
    for (const auto& lock : all->locks) found.push_back(lock.name.str());
    return found;
  };
  EXPECT_EQ(names(), std::vector<std::string>{"a"}) << "no majority has b";
  nodes.kill(4);
  // Two of the four have b, and the fifth may have it too.
  EXPECT_TRUE(eventually([&] { return names() == std::vector<std::string>{"a", "b"}; }));
}

TEST_F(redlock_basics, what_cannot_be_a_lock_or_its_token_is_not_listed) {
  const std::string value(40, 'a');
  for (const std::string name : {"a\nb", "a\x1b[31m", "a\x7f"}) {
    nodes.everywhere({"SET", name, value, "PX", "60000"});
  }
  nodes.everywhere({"SET", std::string(513, 'a'), value, "PX", "60000"});
  session s = nodes.open();
  auto l = s.try_acquire(lock_name("b"));
  ASSERT_TRUE(l) << l.error().message();
  nodes.everywhere({"SET", "holdfast:token:b", "1:99999999999999999999"});
  const auto all = store::open(nodes.url()).value().list();
  ASSERT_TRUE(all) << all.error().message();
  ASSERT_EQ(all->locks.size(), 1U);
  EXPECT_EQ(all->locks[0].name.str(), "b");
  EXPECT_EQ(all->locks[0].entries.at(0).token, token{});
}

TEST(redlock_listing, tells_the_token_for_as_long_as_the_lock_is_held) {
  five_nodes nodes(3);
  nodes.init(2s);
  const std::string query = "ttl=2s&max_ttl=2s&node_timeout=500ms";
  session s = nodes.open(query);
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  std::this_thread::sleep_for(5s);  // A counter that is not used lives for four.
  const auto all = store::open(nodes.url(query, 1)).value().list();
  ASSERT_TRUE(all) << all.error().message();
  ASSERT_EQ(all->locks.size(), 1U);
  EXPECT_EQ(all->locks[0].entries.at(0).token, l->token());
}

TEST_F(redlock_basics, a_session_whose_record_goes_or_comes_is_a_change) {
  session s = nodes.open();
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  auto view = store::open(nodes.url()).value();
  ASSERT_EQ(view.list().value().sessions.size(), 1U);
  EXPECT_FALSE(view.wait_for_change(0s).value());
  // As where a look came between a session's record and its lock.
  nodes.everywhere({"DEL", "holdfast:session:" + s.id().str()});
  EXPECT_TRUE(view.wait_for_change(0s).value());
}

TEST_F(redlock_basics, the_token_that_is_listed_is_that_of_most_nodes) {
  session s = nodes.open();
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  ASSERT_TRUE(nodes.comes_to("a", 5));
  // As a node has it that was late, or lost the lock and got it back.
  nodes[0].command({"SET", "holdfast:token:a", "1:" + std::to_string(l->token().value + 9)});
  nodes[1].command({"SET", "holdfast:token:a", "1:" + std::to_string(l->token().value - 1)});
  const auto all = store::open(nodes.url()).value().list();
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(all->locks.at(0).entries.at(0).token, l->token());
}

TEST_F(redlock_basics, a_lock_that_was_held_for_longer_than_its_ttl_is_released_like_any_other) {
  session s = nodes.open("ttl=2s");
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  std::this_thread::sleep_for(4500ms);
  EXPECT_GE(nodes.count("a"), 3U);
  EXPECT_TRUE(succeeded(std::move(*l).release()));
  EXPECT_LE(nodes.count("a"), 2U) << "a release that is not sent leaves it to its ttl";
}

TEST_F(redlock_basics, a_lock_is_lost_when_its_extensions_are_used_up) {
  session s = nodes.open("ttl=3s&extensions=1");
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  std::promise<std::string> told;
  l->on_lost([&](const error& e) { told.set_value(e.message()); });
  const std::string limit = "extended at most 1 time (extensions=1 in the store's URL)";
  auto why = told.get_future();
  ASSERT_EQ(why.wait_for(30s), std::future_status::ready);
  EXPECT_THAT(why.get(), HasSubstr(limit));
  EXPECT_EQ(l->check().error(), errc::lost);
  EXPECT_THAT(l->check().error().message(), HasSubstr(limit));
  EXPECT_GT(s.remaining(), 0s);
  EXPECT_TRUE(nodes.comes_to("a", 0));
}

TEST(redlock_without_tokens, locks_are_plain_keys_and_deny_is_refused_by_name) {
  five_nodes nodes;
  const std::string query = "ttl=5s&tokens=off&assume_fresh=yes";
  session s = nodes.open(query);
  session other = nodes.open(query, 1);
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  EXPECT_EQ(l->token().value, 0U);
  EXPECT_EQ(other.try_acquire(lock_name("a")).error(), errc::busy);
  EXPECT_TRUE(nodes.comes_to("a", 5));
  EXPECT_EQ(nodes[0].command({"DBSIZE"}).integer, 1);
  EXPECT_EQ(election::open(nodes.url(query), lock_name("a"))->campaign("v").error(),
            errc::unsupported)
      << "it would wait in vain";
  auto view = store::open(nodes.url(query));
  ASSERT_TRUE(view) << view.error().message();
  EXPECT_EQ(view->deny(s.id(), "me", "why").error(), errc::unsupported);
  EXPECT_TRUE(succeeded(std::move(*l).release()));
  EXPECT_TRUE(nodes.comes_to("a", 0));
  EXPECT_EQ(redlock::init(nodes.url(query)).error(), errc::unsupported);
}

}  // namespace

}  // namespace holdfast::redlock_tests
