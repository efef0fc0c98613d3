#include "core/store_url.hpp"
#include "engines/redlock/engine.hpp"
#include "engines/redlock/open.hpp"
#include "tests/process/child.hpp"
#include "tests/redlock/five_nodes.hpp"
#include "tests/succeeded.hpp"

#include <holdfast/store.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::redlock_tests {

namespace {

using testing::HasSubstr;

/// bob, who may do all but what the rules take from him.
struct redlock_access : testing::Test {
  redlock_access() { nodes.init(); }

  void allow(std::size_t i, const std::vector<std::string>& rules) {
    std::vector<std::string> command{"ACL", "SETUSER", "bob", "reset", "on", ">secret", "&*"};
    command.insert(command.end(), rules.begin(), rules.end());
    EXPECT_EQ(nodes[i].command(command).text, "OK");
  }
  void allow_everywhere(const std::vector<std::string>& rules) {
    for (std::size_t i = 0; i < nodes.size(); ++i) allow(i, rules);
  }
  store as_bob() { return store::open(as_user("bob:secret", nodes.url())).value(); }

  five_nodes nodes{3};
};

/// Fault matrix: an ACL without a command that only a look needs | no store is shown as empty: the
/// error names the command and a key
TEST_F(redlock_access, what_may_not_be_looked_at_is_not_shown_as_empty) {
  session s = nodes.open();
  auto held = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(held) << held.error().message();
  for (const char* command : {"scan", "strlen", "get", "pttl", "hgetall"}) {
    SCOPED_TRACE(command);
    allow_everywhere({"~*", "+@all", std::string("-") + command});
    const auto all = as_bob().list();
    ASSERT_FALSE(all) << "with " << all->locks.size() << " locks";
    EXPECT_EQ(all.error(), errc::invalid_argument);
    EXPECT_THAT(all.error().message(), HasSubstr(std::string("may not run '") + command));
    EXPECT_THAT(all.error().message(), HasSubstr(std::string("(allow +") + command));
  }
}

/// Fault matrix: a node forgets its scripts, and does not take them again | a release is repeated
/// there at once, and after that with pauses
TEST_F(redlock_access, a_release_is_repeated_with_pauses_where_scripts_may_not_be_loaded) {
  allow_everywhere({"~*", "+@all"});
  session s = holdfast::open(as_user("bob:secret", nodes.url("ttl=30s&node_timeout=3s"))).value();
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  ASSERT_TRUE(nodes.comes_to("a", 3));
  nodes.everywhere({"ACL", "SETUSER", "bob", "-script"});
  nodes.everywhere({"SCRIPT", "FLUSH"});
  nodes.everywhere({"CONFIG", "RESETSTAT"});
  EXPECT_FALSE(std::move(*l).release());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const int calls = nodes[i].calls("evalsha");
    EXPECT_GE(calls, 2);
    EXPECT_LT(calls, 50) << "with the looks of three seconds";
  }
}

/// Fault matrix: another password on some nodes | a minority costs nothing; a majority needs a
/// person, whoever waits goes on when it has been set right
TEST_F(redlock_access, a_majority_that_refuses_the_password_needs_a_person) {
  const std::vector<std::string> right{"~*", "+@all"};
  const std::vector<std::string> wrong{"~*", "+@all", "<secret", ">other"};
  allow_everywhere(right);
  allow(0, wrong);
  auto among_others = as_bob().open_session({.ttl = 5s});
  ASSERT_TRUE(among_others) << among_others.error().message();
  EXPECT_TRUE(among_others->try_acquire(lock_name("a")));
  allow(1, wrong);
  store later = store::open(as_user("bob:secret", nodes.url("ttl=5s", 1))).value();
  const auto refused = later.open_session({.ttl = 5s});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), errc::unavailable);
  EXPECT_TRUE(refused.error().needs_operator());
  EXPECT_THAT(refused.error().message(), HasSubstr("WRONGPASS"));
  allow(1, right);
  EXPECT_TRUE(process::eventually([&] { return later.open_session({.ttl = 5s}).has_value(); }));
  EXPECT_TRUE(among_others->try_acquire(lock_name("b"))) << "it was open all the time";
}

TEST_F(redlock_access, who_asks_for_a_lock_is_told_that_a_person_has_to_act_first) {
  allow_everywhere({"~*", "+@all"});
  store open_before = as_bob();
  session s = open_before.open_session({.ttl = 30s}).value();
  for (const std::size_t i : {0U, 1U}) {
    allow(i, {"~*", "+@all", "<secret", ">other"});
    nodes[i].command({"CLIENT", "KILL", "USER", "bob"});
  }
  EXPECT_TRUE(process::eventually([&] {
    const auto tried = s.try_acquire(lock_name("a"));
    return !tried && tried.error() == errc::unavailable && tried.error().needs_operator();
  }));
  const auto waited = s.acquire(lock_name("a"), {.wait = 100ms});
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error(), errc::unavailable);
  EXPECT_TRUE(waited.error().needs_operator()) << waited.error().message();
}

TEST_F(redlock_access, a_minority_that_may_not_be_looked_at_hides_nothing) {
  session s = nodes.open();
  auto held = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(held) << held.error().message();
  allow_everywhere({"~*", "+@all"});
  allow(0, {"~*", "+@all", "-strlen"});
  const auto all = as_bob().list();
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(all->locks.size(), 1U);
  EXPECT_EQ(all->lacks, "");
  allow(1, {"~*", "+@all", "-strlen"});
  const auto none = as_bob().list();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error(), errc::invalid_argument);
}

/// Fault matrix: an ACL for other names than that of a lock | who looks is told that more may be
/// held, and a key
TEST_F(redlock_access, a_lock_whose_key_may_not_be_read_is_told_of) {
  session s = nodes.open();
  auto ours = s.try_acquire(lock_name("ours:a"));
  auto theirs = s.try_acquire(lock_name("theirs:a"));
  ASSERT_TRUE(ours && theirs);
  allow_everywhere({"~holdfast:*", "~ours:*", "+@all"});
  const auto all = as_bob().list();
  ASSERT_TRUE(all) << all.error().message();
  ASSERT_EQ(all->locks.size(), 1U);
  EXPECT_EQ(all->locks[0].name, lock_name("ours:a"));
  EXPECT_THAT(all->lacks, HasSubstr("does not let this user read theirs:a"));
  EXPECT_TRUE(succeeded(std::move(*theirs).release()));
  EXPECT_EQ(as_bob().list()->lacks, "");
}

TEST_F(redlock_access, the_keys_of_holdfast_have_to_be_readable) {
  session s = nodes.open();
  auto held = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(held) << held.error().message();
  allow_everywhere({"~holdfast:node", "~a", "+@all"});
  const auto all = as_bob().list();
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error(), errc::invalid_argument);
  EXPECT_THAT(all.error().message(), HasSubstr("on the key 'holdfast:"));
  EXPECT_THAT(all.error().message(), HasSubstr("~PATTERN"));
}

/// Fault matrix: a node whose record cannot be read, connected to again and again | it is looked at
/// no more often than behind its first connection
TEST(redlock_looks, an_unreadable_node_is_looked_at_once_per_connection) {
  five_nodes nodes{3};
  nodes.init();
  nodes[2].command({"SET", "holdfast:node", "of another type"});
  const auto s = nodes.open();
  const auto connects = [&] { return nodes[2].calls("hello"); };
  for (int i = 0; i < 8; ++i) {
    const int before = connects();
    nodes[2].command({"CLIENT", "KILL", "TYPE", "normal"});
    ASSERT_TRUE(process::eventually([&] { return connects() > before; }));
  }
  const auto looks = [&] { return nodes[2].calls("config|get"); };
  // A look every two seconds.
  std::this_thread::sleep_for(2s);
  const int before = looks();
  std::this_thread::sleep_for(4s);
  EXPECT_LE(looks() - before, 4);
}

/// Two of three nodes are asked to record a session, and one refuses; the other one loses its
/// state, and the third one is there by then: the two that vote now are asked.
struct redlock_second_ballot : redlock_access {
  redlock_second_ballot() {
    allow_everywhere({"~*", "+@all"});
    allow(1, {"~*", "+@all", "-pexpire"});
    asked.draft.id.bytes[0] = 1;
    asked.draft.ttl = 60s;
  }

  bool is_recorded() {
    return nodes[0].command({"EXISTS", "holdfast:session:" + asked.draft.id.str()}).integer == 1;
  }
  /// `then` is what happens before the second one.
  core::open_reply open(const std::function<void()>& then) {
    nodes.stop(2);
    auto answer = begin([] {});
    then();
    nodes.resume(2);
    return answer.get();
  }
  /// Asks for a session, and returns when the first node has recorded it and votes no more.
  /// `before`: when two of the three vote.
  std::future<core::open_reply> begin(const std::function<void()>& before) {
    const auto url = core::store_url::parse(as_user("bob:secret", nodes.url()));
    engine = engines::redlock::open_redlock(*url).value().engine;
    const auto c = dynamic_cast<engines::redlock::redlock_engine&>(*engine).nodes();
    before();
    const auto answer = std::make_shared<std::promise<core::open_reply>>();
    engine->open(asked, [answer](core::open_reply r) { answer->set_value(std::move(r)); });
    EXPECT_TRUE(process::eventually([&] { return is_recorded(); }));
    nodes[0].command({"DEL", "holdfast:node"});
    c->doubted(0);
    EXPECT_TRUE(process::eventually([&] { return !c->now_voting()->voters.has(0); }));
    return answer->get_future();
  }

  core::open_request asked;
  std::shared_ptr<core::engine> engine;
};

/// Fault matrix: too few nodes record a session, one of them loses its state, and those that are
/// asked then are too few as well | it is not opened, and no node keeps its record
TEST_F(redlock_second_ballot, a_session_that_is_not_opened_leaves_no_record) {
  const auto why = open([] {});
  EXPECT_EQ(why.what, core::status::unavailable) << why.text;
  EXPECT_TRUE(process::eventually([&] { return !is_recorded(); }));
}

/// Fault matrix: the same, and those that are asked then are enough | it is opened, and no node
/// keeps its record when it is closed
TEST_F(redlock_second_ballot, a_session_that_is_closed_leaves_no_record) {
  const auto opened = open([&] { allow(1, {"~*", "+@all"}); });
  ASSERT_EQ(opened.what, core::status::ok) << opened.text;
  EXPECT_TRUE(is_recorded());
  engine->close({.id = asked.draft.id}, [](const core::reply&) {});
  EXPECT_TRUE(process::eventually([&] { return !is_recorded(); }));
}

/// Fault matrix: a majority records a session, and one of it votes no more when the other one has
/// answered | it keeps no record when the session is closed
TEST_F(redlock_second_ballot, a_session_that_a_node_recorded_which_votes_no_more_leaves_no_record) {
  allow(1, {"~*", "+@all"});
  nodes.stop(2);
  auto answer = begin([&] {
    const auto c = dynamic_cast<engines::redlock::redlock_engine&>(*engine).nodes();
    ASSERT_TRUE(process::eventually([&] { return c->now_voting()->voters.size() == 2; }));
    nodes.stop(1);
  });
  nodes.resume(1);
  const auto opened = answer.get();
  ASSERT_EQ(opened.what, core::status::ok) << opened.text;
  EXPECT_TRUE(is_recorded());
  engine->close({.id = asked.draft.id}, [](const core::reply&) {});
  EXPECT_TRUE(process::eventually([&] { return !is_recorded(); }));
  nodes.resume(2);
}

/// Fault matrix: foreign data in place of a name's counter | the refusal names its key
TEST(redlock_refusals, foreign_data_in_place_of_a_counter_is_named) {
  five_nodes nodes(3);
  nodes.init();
  session s = nodes.open();
  nodes.everywhere({"RPUSH", "holdfast:token:a", "x"});
  const auto l = s.try_acquire(lock_name("a"));
  ASSERT_FALSE(l);
  EXPECT_EQ(l.error(), errc::unavailable) << l.error().message();
  EXPECT_THAT(l.error().message(), HasSubstr("another type of value under a key of ours"));
  EXPECT_THAT(l.error().message(), HasSubstr(": 'holdfast:token:a'"));
}

/// Fault matrix: tokens=off, and no script may be run on the nodes, or EVALSHA was renamed | no
/// lock is taken, for it could not be released; the error names the command
TEST_F(redlock_access, without_scripts_no_plain_lock_is_taken) {
  allow_everywhere({"~*", "+@all", "-evalsha"});
  const std::string url = nodes.url("ttl=5s&tokens=off&assume_fresh=yes");
  const auto s = store::open(as_user("bob:secret", url)).value().open_session({});
  ASSERT_FALSE(s);
  EXPECT_THAT(s.error().message(), HasSubstr("scripts that extend and release a lock"));
  EXPECT_THAT(s.error().message(), HasSubstr("'evalsha'"));
  EXPECT_THAT(s.error().message(), HasSubstr("(allow +evalsha"));
}

TEST(redlock_refusals, a_server_without_evalsha_takes_no_plain_lock) {
  five_nodes nodes(3, {.settings = {"--rename-command", "EVALSHA", ""}});
  const auto s =
      store::open(nodes.url("ttl=5s&tokens=off&assume_fresh=yes")).value().open_session({});
  ASSERT_FALSE(s);
  EXPECT_THAT(s.error().message(), HasSubstr("unknown command 'EVALSHA'"));
}

/// Fault matrix: tokens=off, and a node stops letting the user run scripts | it does not vote
TEST_F(redlock_access, a_node_that_runs_scripts_no_longer_takes_no_plain_lock) {
  allow_everywhere({"~*", "+@all"});
  const std::string url = nodes.url("ttl=5s&tokens=off&assume_fresh=yes");
  store st = store::open(as_user("bob:secret", url)).value();
  session s = st.open_session({}).value();
  allow_everywhere({"~*", "+@all", "-evalsha"});
  EXPECT_TRUE(process::eventually([&] {
    const auto l = s.try_acquire(lock_name("a"));
    return !l && l.error() == errc::unavailable;
  }));
}

/// Longer than any string that a client keeps of an answer.
const std::string too_long(600'000, 'x');

/// How many connections all nodes have had.
int connections(five_nodes& nodes) {
  constexpr std::string_view key = "total_connections_received:";
  int all = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string stats = nodes[i].command({"INFO", "stats"}).text;
    all += std::stoi(stats.substr(stats.find(key) + key.size()));
  }
  return all;
}

/// Fault matrix: somebody writes a lock, a session record and a denial of 600 kB | they end no
/// connection: the lock is held, the session is shown without what is too long, the denied one ends
TEST(redlock_refusals, what_is_too_long_to_be_kept_ends_no_connection) {
  five_nodes nodes(3);
  nodes.init();
  store st = store::open(nodes.url()).value();
  session s = st.open_session({}).value();
  ASSERT_TRUE(s.try_acquire(lock_name("mine")));
  const int before = connections(nodes);
  nodes.everywhere({"SET", "wanted", too_long});
  const auto busy = s.try_acquire(lock_name("wanted"));
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error(), errc::busy) << busy.error().message();
  const std::string other(32, '1');
  nodes.everywhere({"HSET", "holdfast:session:" + other, "host", "h", "ttl", "5000", "label",
                    too_long, "program", too_long});
  const auto all = st.list();
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_THAT(all->sessions, testing::SizeIs(2));
  nodes.everywhere(
      {"HSET", "holdfast:session:" + s.id().str(), "denied", "1", "denied_why", too_long});
  const auto denied = s.try_acquire(lock_name("other"));
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error(), errc::denied) << denied.error().message();
  EXPECT_EQ(connections(nodes), before);
}

/// Fault matrix: a waiter with tokens=off meets a value of 600 kB under its lock's name | the lock
/// is held, and no connection ends
TEST(redlock_refusals, what_is_too_long_is_a_held_lock_to_who_waits) {
  five_nodes nodes(3);
  session s = nodes.open("ttl=5s&tokens=off&assume_fresh=yes");
  nodes.everywhere({"SET", "wanted", too_long});
  const int before = connections(nodes);
  const auto l = s.acquire(lock_name("wanted"), {.wait = 500ms});
  ASSERT_FALSE(l);
  EXPECT_EQ(l.error(), errc::timed_out) << l.error().message();
  EXPECT_EQ(connections(nodes), before);
}

/// Fault matrix: somebody writes 600 kB into a node record | the node does not vote, and the key,
/// the length and the limit are named
TEST(redlock_refusals, a_node_record_that_is_too_long_is_named) {
  five_nodes nodes(3);
  nodes.init();
  nodes[0].command({"HSET", "holdfast:node", "id", too_long});
  EXPECT_THAT(nodes.look().nodes[0].standing,
              HasSubstr("holdfast:node has a value of 600000 bytes, at most 524288 are read"));
}

/// Fault matrix: a command was renamed or disabled on the servers | the refusal names it
TEST(redlock_refusals, a_command_that_the_servers_do_not_know_is_named) {
  five_nodes nodes(3, {.settings = {"--rename-command", "PTTL", ""}});
  nodes.init();
  session s = nodes.open();
  const auto l = s.try_acquire(lock_name("a"));
  ASSERT_FALSE(l);
  EXPECT_THAT(l.error().message(), HasSubstr(": 'pttl'"));
}

}  // namespace
}  // namespace holdfast::redlock_tests
