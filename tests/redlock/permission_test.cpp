#include "engines/redlock/scripts.hpp"
#include "tests/process/child.hpp"
#include "tests/redlock/five_nodes.hpp"
#include "tests/succeeded.hpp"

#include <holdfast/store.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// \file
/// The rights that docs/redlock.md gives a user are enough, and each that is missing is named, or
/// missed by nothing.

namespace holdfast::redlock_tests {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSubsetOf;

namespace {

using rights = std::vector<std::string>;

/// The line of the documentation with this text in it, or the one behind it.
std::string line_of_page(const std::string& mark, bool behind = false) {
  std::ifstream page(HOLDFAST_DOCS "/redlock.md");
  for (std::string line; std::getline(page, line);) {
    if (line.find(mark) == std::string::npos) continue;
    if (behind) std::getline(page, line);
    return line;
  }
  return {};
}

/// "user holdfast ..." of the page's ACL file, as the rules that ACL SETUSER takes.
rights documented() {
  const std::string line = line_of_page("user holdfast on ");
  std::istringstream words(line.substr(std::min(line.size(), line.find("on >secret"))));
  rights all;
  for (std::string word; words >> word;) all.push_back(word);
  return all;
}

rights documented_without(const std::string& command) {
  rights all = documented();
  std::erase(all, "+" + command);
  return all;
}

/// What the page lists for `tokens=off`.
rights documented_for_plain_use() {
  std::string line = line_of_page("With `tokens=off` these are enough", true);
  std::erase(line, '`');
  std::istringstream words(line);
  rights all{"on", ">secret", "~*", "&holdfast:free:*", "-@all"};
  for (std::string word; words >> word;) {
    if (word.ends_with('.')) word.pop_back();
    all.push_back("+" + word);
  }
  return all;
}

/// Three nodes, on which bob has the rights that he is given.
struct redlock_permissions : testing::Test {
  void allow(const std::string& user, const rights& rules) {
    rights command{"ACL", "SETUSER", user, "reset"};
    command.insert(command.end(), rules.begin(), rules.end());
    for (std::size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(nodes[i].command(command).text, "OK");
  }
  std::string as(const std::string& user, const std::string& query, std::size_t first = 0) const {
    return as_user(user + ":secret", nodes.url(query, first));
  }
  /// The message has the store's URL in it, and so every node: without that one has to be there.
  std::string named(const error& e, const std::string& url) const {
    std::string text = e.message();
    const std::string list = url.substr(url.find('@') + 1, url.find('?') - url.find('@') - 1);
    for (auto at = text.find(list); at != std::string::npos; at = text.find(list)) {
      text.erase(at, list.size());
    }
    return text;
  }
  bool has_node(const std::string& text) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (text.find(nodes[i].address()) != std::string::npos) return true;
    }
    return false;
  }
  /// What nodes refused to anybody: commands, keys and channels.
  std::set<std::string> refused() {
    std::set<std::string> all;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const answer& a : nodes[i].command({"ACL", "LOG"}).elements) {
        const auto at = std::ranges::find(a.elements, "object", &answer::text);
        EXPECT_NE(at, a.elements.end());
        if (at != a.elements.end()) all.insert((at + 1)->text);
      }
    }
    return all;
  }

  five_nodes nodes{3};
};

/// Where somebody without a right is told of it.
enum class told : std::uint8_t { opening, acquiring, renewing, releasing, nowhere };

const std::map<std::string, told>& where_told() {
  static const std::map<std::string, told> all{
      {"evalsha", told::opening},    {"info", told::opening},
      {"time", told::opening},       {"exists", told::opening},
      {"hmget", told::opening},      {"hget", told::opening},
      {"hset", told::opening},       {"pexpire", told::opening},
      {"get", told::acquiring},      {"set", told::acquiring},
      {"pttl", told::acquiring},     {"mget", told::renewing},
      {"del", told::releasing},      {"script|load", told::nowhere},
      {"select", told::nowhere},     {"config|get", told::nowhere},
      {"acl|dryrun", told::nowhere}, {"client|setname", told::nowhere},
      {"subscribe", told::nowhere},  {"unsubscribe", told::nowhere},
      {"publish", told::nowhere},    {"pubsub|numsub", told::nowhere},
      {"unlink", told::nowhere},     {"scan", told::nowhere},
      {"strlen", told::nowhere},     {"hgetall", told::nowhere},
  };
  return all;
}

/// One who lacks a right holds a lock, and another one who lacks it waits for that lock.
struct deprived {
  std::string command;
  std::string url{};
  std::optional<session> holder{};
  std::optional<lock> held{};
  std::optional<session> waiter{};
  std::future<result<lock>> next{};
};

struct redlock_deprived : redlock_permissions {
  redlock_deprived() { nodes.init(); }

  testing::AssertionResult names(const error& e, const deprived& d) {
    const std::string text = named(e, d.url);
    if (text.find("'" + d.command + "'") == std::string::npos) {
      return testing::AssertionFailure() << "not the command: " << e.message();
    }
    if (!has_node(text)) return testing::AssertionFailure() << "no node: " << e.message();
    return testing::AssertionSuccess();
  }
  /// Until both hold or wait, or somebody is told why not.
  told begin(deprived& d) {
    auto opened = holdfast::open(d.url);
    if (!opened) {
      EXPECT_EQ(opened.error(), errc::unavailable);
      EXPECT_TRUE(opened.error().needs_operator()) << opened.error().message();
      EXPECT_TRUE(names(opened.error(), d));
      return told::opening;
    }
    d.holder = std::move(*opened);
    auto l = d.holder->try_acquire(lock_name(name_of_lock(d)));
    if (!l) {
      EXPECT_EQ(l.error(), errc::invalid_argument) << "no repeating helps";
      EXPECT_TRUE(names(l.error(), d));
      return told::acquiring;
    }
    d.held = std::move(*l);
    if (where_told().at(d.command) != told::nowhere) return told::nowhere;
    d.waiter = holdfast::open(as(user_of(d), "ttl=4s", 1)).value();
    d.next = std::async(std::launch::async, [&d] {
      return d.waiter->acquire(lock_name(name_of_lock(d)), {.wait = 60s});
    });
    return told::nowhere;
  }
  /// When its lock would be over without a renewal.
  told end(deprived& d) {
    if (const auto kept = d.held->check(); !kept) {
      EXPECT_TRUE(process::eventually([&] {
        return d.holder->status().reason.find("'" + d.command + "'") != std::string::npos;
      })) << d.holder->status().reason;
      return told::renewing;
    }
    const auto released = std::move(*d.held).release();
    if (!released) {
      EXPECT_TRUE(names(released.error(), d));
      return told::releasing;
    }
    EXPECT_TRUE(!d.next.valid() || succeeded(d.next.get()));
    return told::nowhere;
  }

  static std::string user_of(const deprived& d) {
    std::string user = "without-" + d.command;
    std::ranges::replace(user, '|', '-');
    return user;
  }
  static std::string name_of_lock(const deprived& d) { return "lock-of-" + user_of(d); }
};

/// Fault matrix: an ACL without any one of the commands that the documentation lists | it is named
/// with its node where it is needed; what a lock does not need keeps none from being acquired,
/// waited for, renewed and released
TEST_F(redlock_deprived, each_right_that_is_missing_is_named_or_not_missed) {
  std::vector<std::unique_ptr<deprived>> all;
  for (const std::string& right : documented()) {
    if (!right.starts_with('+')) continue;
    const std::string command = right.substr(1);
    SCOPED_TRACE(command);
    ASSERT_TRUE(where_told().contains(command));
    auto d = std::make_unique<deprived>(deprived{.command = command});
    allow(user_of(*d), documented_without(command));
    const told at = where_told().at(command);
    d->url = as(user_of(*d), "ttl=4s");
    const bool soon = at == told::opening || at == told::acquiring;
    EXPECT_EQ(begin(*d), soon ? at : told::nowhere);
    if (d->held) all.push_back(std::move(d));
  }
  std::this_thread::sleep_for(5s);  // For more than a ttl.
  for (const auto& d : all) {
    SCOPED_TRACE(d->command);
    EXPECT_EQ(end(*d), where_told().at(d->command));
  }
  EXPECT_EQ(all.size(), 15U);
}

TEST_F(redlock_deprived, renewals_that_are_done_hide_no_refused_release) {
  deprived d{.command = "del"};
  allow("bob", documented_without("del"));
  d.url = as("bob", "ttl=2s");
  session s = holdfast::open(d.url).value();
  for (int i = 0; i < 8; ++i) {
    auto l = s.acquire(lock_name("of-bob-" + std::to_string(i)), {.wait = 60s});
    ASSERT_TRUE(l) << l.error().message();
    const auto released = std::move(*l).release();
    ASSERT_FALSE(released);
    EXPECT_TRUE(names(released.error(), d));
  }
}

TEST_F(redlock_deprived, a_database_takes_the_right_to_select_it) {
  deprived d{.command = "select"};
  allow("bob", documented_without("select"));
  d.url = as("bob", "ttl=4s");
  d.url.insert(d.url.find('?'), "/1");
  const auto refused = holdfast::open(d.url);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(names(refused.error(), d));
}

TEST_F(redlock_deprived, what_only_a_set_up_needs_is_named_by_it) {
  deprived d{.command = "unlink"};
  allow("bob", documented_without("unlink"));
  nodes.everywhere({"FLUSHALL"});
  d.url = as("bob", "ttl=4s");
  const auto refused = redlock::init(d.url);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(names(refused.error(), d));
}

/// Fault matrix: an ACL without the channels of releases | nobody hears of one, and waiters poll
TEST_F(redlock_deprived, without_channels_a_waiter_polls) {
  rights rules = documented();
  std::erase(rules, "&holdfast:free:*");
  allow("bob", rules);
  session holder = holdfast::open(as("bob", "ttl=4s")).value();
  session waiter = holdfast::open(as("bob", "ttl=4s", 1)).value();
  auto held = holder.try_acquire(lock_name("a"));
  ASSERT_TRUE(held) << held.error().message();
  auto next =
      std::async(std::launch::async, [&] { return waiter.acquire(lock_name("a"), {.wait = 60s}); });
  EXPECT_TRUE(process::eventually([&] { return refused().contains("holdfast:free:all:a"); }))
      << "it asked to listen";
  EXPECT_TRUE(succeeded(std::move(*held).release()));
  EXPECT_TRUE(succeeded(next.get()));
}

/// Fault matrix: an ACL for other names than that of a lock | it is refused with its node, at once
TEST_F(redlock_deprived, a_name_that_may_not_be_used_is_refused_at_once) {
  rights rules = documented();
  std::ranges::replace(rules, std::string("~*"), std::string("~ours:*"));
  rules.push_back("~holdfast:*");
  allow("bob", rules);
  for (const char* tokens : {"", "&tokens=off&assume_fresh=yes"}) {
    const std::string url = as("bob", "ttl=4s" + std::string(tokens));
    session s = holdfast::open(url).value();
    EXPECT_TRUE(succeeded(s.try_acquire(lock_name("ours:a"))));
    const auto l = s.acquire(lock_name("theirs:a"), {.wait = 60s});
    ASSERT_FALSE(l);
    EXPECT_EQ(l.error(), errc::invalid_argument) << l.error().message();
    EXPECT_THAT(named(l.error(), url), HasSubstr("NOPERM"));
    EXPECT_TRUE(has_node(named(l.error(), url))) << l.error().message();
    EXPECT_EQ(nodes.count("theirs:a"), 0U);
  }
}

/// All that one does who takes part: takes, waits, renews and releases.
void use(const std::string& url, const std::string& other) {
  session holder = holdfast::open(url).value();
  session waiter = holdfast::open(other).value();
  auto held = holder.try_acquire(lock_name("a"));
  ASSERT_TRUE(held) << held.error().message();
  EXPECT_EQ(waiter.try_acquire(lock_name("a")).error(), errc::busy);
  auto next =
      std::async(std::launch::async, [&] { return waiter.acquire(lock_name("a"), {.wait = 60s}); });
  std::this_thread::sleep_for(5s);  // For more than a ttl.
  EXPECT_TRUE(succeeded(held->check()));
  EXPECT_TRUE(succeeded(std::move(*held).release()));
  const auto l = next.get();
  EXPECT_TRUE(succeeded(l));
}

TEST_F(redlock_permissions, the_documented_user_is_allowed_all_that_is_done) {
  ASSERT_THAT(documented(), testing::Contains("+evalsha"));
  allow("bob", documented());
  const std::string url = as("bob", "ttl=4s");
  ASSERT_TRUE(succeeded(redlock::init(url)));
  use(url, as("bob", "ttl=4s", 1));
  store st = store::open(url).value();
  session s = st.open_session({.ttl = 4s}).value();
  const auto held = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(held) << held.error().message();
  EXPECT_EQ(st.list()->locks.size(), 1U);
  EXPECT_TRUE(succeeded(st.diagnose()));
  EXPECT_TRUE(succeeded(st.deny(s.id(), "me", "test")));
  EXPECT_THAT(refused(), IsEmpty());
}

TEST_F(redlock_permissions, what_is_documented_for_plain_use_is_enough) {
  ASSERT_THAT(documented_for_plain_use(), testing::Contains("+evalsha"));
  allow("bob", documented_for_plain_use());
  const std::string plain = "ttl=4s&max_ttl=5s&tokens=off&assume_fresh=yes";
  use(as("bob", plain), as("bob", plain, 1));
  std::string elsewhere = as("bob", plain);
  elsewhere.insert(elsewhere.find('?'), "/1");
  session s = holdfast::open(elsewhere).value();
  EXPECT_TRUE(succeeded(s.try_acquire(lock_name("a"))));
  // Neither is needed: a node counts as one that does not sync, and a connection has no name.
  EXPECT_THAT(refused(), IsSubsetOf({"config|get", "client|setname"}));
}

TEST_F(redlock_permissions, the_documented_user_may_do_no_more_than_is_done) {
  std::set<std::string> needed{"evalsha",    "script|load",    "select",    "info",
                               "config|get", "acl|dryrun",     "subscribe", "unsubscribe",
                               "set",        "client|setname", "time"};
  for (const auto* script : engines::redlock::scripts::all) {
    needed.insert(script->commands.begin(), script->commands.end());
  }
  std::set<std::string> given;
  for (const std::string& right : documented()) {
    if (right.starts_with('+')) given.insert(right.substr(1));
  }
  EXPECT_EQ(given, needed);
}

}  // namespace
}  // namespace holdfast::redlock_tests
