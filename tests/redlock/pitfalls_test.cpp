#include "core/sanitizer.hpp"
#include "tests/process/child.hpp"
#include "tests/redlock/contest.hpp"
#include "tests/redlock/five_nodes.hpp"
#include "tests/succeeded.hpp"

#include <holdfast/store.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <thread>

/// \file
/// What existing Redlock clients get wrong.

namespace holdfast::redlock_tests {

using process::eventually;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

/// Acquires and releases `times` names; every one must succeed.
void acquire_all(session& s, int times) {
  for (int i = 0; i < times; ++i) {
    auto l = s.try_acquire(lock_name("n" + std::to_string(i)));
    ASSERT_TRUE(l) << l.error().message();
    EXPECT_TRUE(succeeded(std::move(*l).release()));
  }
}

/// Fault matrix: one node refused, one hung | every acquire succeeds; what reached the hung node
/// is released when it answers
TEST(redlock_pitfalls, one_node_refused_and_one_hung_fail_no_acquire) {
  five_nodes nodes;
  nodes.init();
  session s = nodes.open("ttl=10s");
  nodes.kill(0);
  nodes.stop(1);
  acquire_all(s, 100);
  nodes.resume(1);
  EXPECT_TRUE(eventually([&] {
    const auto keys = nodes[1].command({"KEYS", "n*"});
    return keys.is == answer::kind::array && keys.elements.empty();
  }));
}

/// Fault matrix: a node hangs, then answers late | its key is released, or held for a ttl at most
TEST(redlock_pitfalls, a_node_that_answers_late_joins_the_lock_or_is_released) {
  five_nodes nodes;
  nodes.init();
  session s = nodes.open("ttl=40s");
  nodes.stop(4);
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  auto given_back = s.try_acquire(lock_name("b"));
  ASSERT_TRUE(given_back) << given_back.error().message();
  EXPECT_TRUE(succeeded(std::move(*given_back).release()));
  nodes.resume(4);
  EXPECT_TRUE(nodes.comes_to("a", 5));
  EXPECT_TRUE(nodes.comes_to("b", 0)) << "it is not left to its ttl";
  EXPECT_LE(nodes.longest("a"), 40s);
  EXPECT_TRUE(succeeded(std::move(*l).release()));
  EXPECT_TRUE(nodes.comes_to("a", 0));
}

/// Fault matrix: a round fails on too few nodes | nothing is left behind, also not on late nodes
TEST(redlock_pitfalls, a_failed_round_leaves_nothing_behind) {
  five_nodes nodes;
  nodes.init();
  session s = nodes.open("ttl=40s");
  for (std::size_t i = 0; i < 3; ++i) nodes.stop(i);
  const auto l = s.try_acquire(lock_name("a"));
  EXPECT_EQ(l.error(), errc::unavailable);
  EXPECT_THAT(l.error().message(), HasSubstr("\"a\""));
  EXPECT_TRUE(nodes.comes_to("a", 0)) << "nothing is left to its ttl";
  for (std::size_t i = 0; i < 3; ++i) nodes.resume(i);
  nodes[0].command({"PING"});
  EXPECT_TRUE(nodes.comes_to("a", 0));
  EXPECT_TRUE(succeeded(s.acquire(lock_name("a"), {.wait = 10s})));
}

TEST(redlock_pitfalls, a_release_after_the_scripts_were_flushed_frees_the_lock) {
  five_nodes nodes;
  nodes.init();
  session s = nodes.open("ttl=30s");
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  nodes.everywhere({"SCRIPT", "FLUSH"});
  const auto released = std::move(*l).release();
  EXPECT_TRUE(released) << released.error().message();
  EXPECT_TRUE(nodes.comes_to("a", 0));
}

TEST(redlock_pitfalls, an_operator_who_looks_on_sends_flushed_scripts_again) {
  five_nodes nodes;
  nodes.init();
  const session s = nodes.open("ttl=30s", 1);
  auto view = store::open(nodes.url("ttl=30s")).value();
  nodes.everywhere({"SCRIPT", "FLUSH"});
  const auto all = view.list();
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(all->sessions.size(), 1U);
  nodes.everywhere({"SCRIPT", "FLUSH"});
  const auto denied = view.deny(s.id(), "me", "a test");
  EXPECT_TRUE(denied) << denied.error().message();
}

TEST(redlock_pitfalls, an_extension_never_puts_back_a_lock_that_was_lost) {
  five_nodes nodes;
  nodes.init();
  session s = nodes.open("ttl=3s");
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  ASSERT_TRUE(nodes.comes_to("a", 5));
  nodes.everywhere({"DEL", "a"});
  while (l->check()) {
    EXPECT_EQ(nodes.count("a"), 0U);
    std::this_thread::sleep_for(5ms);
  }
  std::this_thread::sleep_for(1200ms);
  EXPECT_EQ(nodes.count("a"), 0U);
}

TEST(redlock_pitfalls, a_lock_of_somebody_else_is_neither_extended_nor_released) {
  five_nodes nodes;
  nodes.init();
  session s = nodes.open("ttl=3s");
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  ASSERT_TRUE(nodes.comes_to("a", 5));
  nodes.everywhere({"SET", "a", "theirs", "PX", "60000"});
  while (l->check()) std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(std::move(*l).release());
  EXPECT_EQ(nodes.count("a"), 5U);
  EXPECT_EQ(nodes[2].command({"GET", "a"}).text, "theirs");
  EXPECT_GT(nodes.longest("a"), 50s);
}

TEST(redlock_pitfalls, a_store_that_was_not_set_up_says_how) {
  five_nodes nodes;
  const auto s = holdfast::open(nodes.url());
  EXPECT_EQ(s.error(), errc::not_initialised);
  EXPECT_THAT(s.error().message(), HasSubstr("holdfast redlock init"));
  EXPECT_EQ(nodes[0].command({"DBSIZE"}).integer, 0);
}

TEST(redlock_pitfalls, a_store_is_set_up_once) {
  five_nodes nodes;
  nodes.init();
  EXPECT_EQ(redlock::init(nodes.url()).error(), errc::invalid_argument);
}

TEST(redlock_pitfalls, setting_up_needs_every_node_and_writes_nothing_otherwise) {
  five_nodes nodes;
  nodes.kill(4);
  EXPECT_EQ(redlock::init(nodes.url()).error(), errc::unavailable);
  EXPECT_EQ(nodes.count("holdfast:node"), 0U);
}

class redlock_sizes : public testing::TestWithParam<std::size_t> {};

/// Fault matrix: as many nodes hung as the majority rule allows (N = 1 to 6) | every acquire works
TEST_P(redlock_sizes, as_many_may_hang_as_leave_a_majority_and_no_more) {
  const std::size_t n = GetParam();
  const std::size_t may_fail = (n - 1) / 2;
  five_nodes nodes(n);
  nodes.init();
  session s = nodes.open("ttl=10s");
  for (std::size_t i = 0; i < may_fail; ++i) nodes.stop(i);
  acquire_all(s, 10);
  nodes.stop(may_fail);
  const auto l = s.try_acquire(lock_name("a"));
  EXPECT_EQ(l.error(), errc::unavailable) << l.error().message();
  for (std::size_t i = 0; i <= may_fail; ++i) nodes.resume(i);
  EXPECT_TRUE(succeeded(s.acquire(lock_name("a"), {.wait = 10s})));
}

INSTANTIATE_TEST_SUITE_P(nodes, redlock_sizes, testing::Values(1U, 2U, 3U, 4U, 5U, 6U));

TEST(redlock_pitfalls, two_contenders_on_an_even_number_of_nodes_both_get_on) {
  five_nodes nodes(4);
  nodes.init();
  contest c(nodes, {.clients = 4});
  EXPECT_TRUE(c.more(60)) << c.troubles();
  c.end();
  EXPECT_THAT(c.violations(), IsEmpty());
  EXPECT_TRUE(nodes.comes_to("contended", 0));
}

/// Fault matrix: two URLs of one server | refused
TEST(redlock_pitfalls, one_server_under_two_names_is_refused) {
  five_nodes nodes(2);
  const std::string port = std::to_string(nodes[0].port());
  const std::string url = "redlock://127.0.0.1:" + port + ",localhost:" + port + "," +
                          nodes[1].address() + "?node_timeout=500ms";
  const auto made = redlock::init(url);
  EXPECT_EQ(made.error(), errc::invalid_argument);
  EXPECT_THAT(made.error().message(), HasSubstr("same server"));
  const auto plain = redlock::status(url + "&tokens=off&assume_fresh=yes");
  ASSERT_TRUE(plain) << plain.error().message();
  EXPECT_LT(plain->votes, 3U);
}

/// Fault matrix: a node is a replica | refused; the others work
TEST(redlock_pitfalls, a_replica_does_not_vote) {
  five_nodes nodes(3);
  nodes.init();
  nodes[2].command({"REPLICAOF", "127.0.0.1", std::to_string(nodes[0].port())});
  EXPECT_TRUE(nodes.votes_come_to(2));
  EXPECT_THAT(nodes.look().nodes[2].standing, HasSubstr("replica"));
  session s = nodes.open();
  acquire_all(s, 5);
}

/// Fault matrix: nodes of a Redis Cluster | refused
TEST(redlock_pitfalls, a_cluster_node_is_refused) {
  five_nodes nodes(1, {.settings = {"--cluster-enabled", "yes"}});
  const auto made = redlock::init(nodes.url());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error(), errc::invalid_argument) << made.error().message();
  EXPECT_THAT(made.error().message(), HasSubstr("Cluster"));
}

/// Fault matrix: wrong password | refused at once, and the message names user and node
TEST(redlock_pitfalls, a_wrong_password_is_told_at_once_and_not_shown) {
  five_nodes nodes(1, {.users = "user default off\nuser ann on >secret ~* &* +@all\n"});
  const std::string at = nodes[0].address();
  const auto s = holdfast::open("redlock://ann:guess@" + at);
  ASSERT_FALSE(s);
  EXPECT_THAT(s.error().message(), HasSubstr(at));
  EXPECT_THAT(s.error().message(), HasSubstr("ann"));
  EXPECT_THAT(s.error().message(), testing::Not(HasSubstr("guess")));
  const auto made = redlock::init("redlock://ann:secret@" + at);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_TRUE(succeeded(holdfast::open("redlock://ann:secret@" + at)));
}

/// Fault matrix: servers without HELLO, so RESP2 | one connection carries subscriptions or
/// commands, never both: waiters poll, and nobody loses a lock by them
TEST(redlock_pitfalls, waiters_over_resp2_leave_the_holders_of_their_process_alone) {
  five_nodes nodes(3, {.settings = {"--rename-command", "HELLO", ""}});
  nodes.init();
  session holder = nodes.open("ttl=3s");
  session waiter = nodes.open("ttl=3s");
  auto held = holder.acquire(lock_name("a"));
  ASSERT_TRUE(held) << held.error().message();
  result<lock> next = errc::busy;
  std::thread waits([&] { next = waiter.acquire(lock_name("a"), {.wait = 20s}); });
  std::this_thread::sleep_for(4s);  // For more than a ttl.
  EXPECT_TRUE(succeeded(held->check()));
  EXPECT_TRUE(succeeded(std::move(*held).release()));
  waits.join();
  EXPECT_TRUE(next) << next.error().message();
}

std::string as_bob(const std::string& url) { return as_user("bob:secret", url); }

/// An ACL file: bob may do all, but for one command.
std::string bob_without(const std::string& command = {}) {
  return "user default on nopass ~* &* +@all\n"
         "user bob on >secret ~* &* +@all" +
         (command.empty() ? "" : " -" + command) + "\n";
}

/// Fault matrix: an ACL without a needed command | the message names the command
TEST(redlock_pitfalls, a_missing_permission_is_named) {
  five_nodes nodes(1, {.users = bob_without("hset")});
  const std::string at = nodes[0].address();
  ASSERT_TRUE(succeeded(redlock::init("redlock://" + at)));
  const auto s = holdfast::open(as_bob("redlock://" + at));
  ASSERT_FALSE(s);
  EXPECT_THAT(s.error().message(), HasSubstr("hset"));
}

/// Fault matrix: the same, but only a lock needs it | the message of the acquire names it, and says
/// of nobody who was not waited for that it was too slow
TEST(redlock_pitfalls, a_permission_that_only_a_lock_needs_is_named) {
  five_nodes nodes(3, {.users = bob_without("set")});
  nodes.init();
  auto s = holdfast::open(as_bob(nodes.url()));
  ASSERT_TRUE(s) << s.error().message();
  // Also for whoever would wait: no release of anybody else can help.
  const auto l = s->acquire(lock_name("a"), {.wait = 20s});
  ASSERT_FALSE(l);
  EXPECT_EQ(l.error(), errc::invalid_argument);
  EXPECT_THAT(l.error().message(), HasSubstr("'set' on 'holdfast:token:a' (allow +set: "));
  EXPECT_THAT(l.error().message(), testing::Not(HasSubstr("did not answer in time")));
}

/// Fault matrix: a permission is taken away while a session lives | its end names what the nodes
/// said
TEST(redlock_pitfalls, a_permission_that_is_taken_away_is_named) {
  five_nodes nodes(3, {.users = bob_without()});
  nodes.init();
  auto s = holdfast::open(as_bob(nodes.url("node_timeout=1s")), {.ttl = 3s});
  ASSERT_TRUE(s) << s.error().message();
  for (std::size_t i = 0; i < 3; ++i) nodes[i].command({"ACL", "SETUSER", "bob", "-evalsha"});
  ASSERT_TRUE(eventually([&] { return s->status().state == session_state::expired; }));
  ASSERT_TRUE(eventually([&] {
    return s->status().reason.find("run the 'evalsha' command") != std::string::npos;
  })) << s->status().reason;
}

/// Takes from bob, on all nodes, the right to look at their records, which no lock needs, and waits
/// until his connected client was refused at each.
void let_nobody_look(five_nodes& nodes) {
  nodes.everywhere({"ACL", "SETUSER", "bob", "-exists"});
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_TRUE(eventually([&] { return !nodes[i].command({"ACL", "LOG"}).elements.empty(); }));
  }
}

/// Fault matrix: nodes may no longer be looked at, and nothing else changes there | a lock is kept
TEST(redlock_pitfalls, a_permission_that_no_lock_needs_costs_none) {
  five_nodes nodes(3, {.users = bob_without()});
  nodes.init();
  auto s = holdfast::open(as_bob(nodes.url("node_timeout=1s")), {.ttl = 3s});
  ASSERT_TRUE(s) << s.error().message();
  auto l = s->try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  let_nobody_look(nodes);
  std::this_thread::sleep_for(4s);  // For more than a ttl.
  EXPECT_TRUE(succeeded(l->check()));
  EXPECT_TRUE(succeeded(std::move(*l).release()));
  const auto next = holdfast::open(as_bob(nodes.url()));
  ASSERT_FALSE(next) << "it knows nothing of them";
  EXPECT_THAT(next.error().message(), HasSubstr("'exists'"));
}

/// Fault matrix: the same, and they sync no longer, or were replicas, or refuse INFO, too | they do
/// not vote, and the end of the session names why
TEST(redlock_pitfalls, a_node_that_changes_and_may_not_be_looked_at_does_not_vote) {
  struct change {
    bool durable;
    std::vector<std::vector<std::string>> commands;
  };
  const change all[]{
      {true, {{"CONFIG", "SET", "appendonly", "no"}}},
      {false, {{"REPLICAOF", "127.0.0.1", "1"}, {"REPLICAOF", "NO", "ONE"}}},
      {false, {{"ACL", "SETUSER", "bob", "-info"}}},
  };
  for (const change& its : all) {
    SCOPED_TRACE(its.commands.front().front());
    five_nodes nodes(1, {.append_only = its.durable,
                         .fsync = its.durable ? "always" : "everysec",
                         .users = bob_without()});
    nodes.init();
    auto s = holdfast::open(as_bob(nodes.url("node_timeout=1s")), {.ttl = 3s});
    ASSERT_TRUE(s) << s.error().message();
    let_nobody_look(nodes);
    EXPECT_TRUE(succeeded(s->try_acquire(lock_name("a"))));
    for (const auto& command : its.commands) nodes[0].command(command);
    EXPECT_TRUE(eventually([&] { return s->status().state == session_state::expired; }));
    // Or it was met in the moment in which it was a replica.
    EXPECT_TRUE(eventually([&] {
      const std::string why = s->status().reason;
      return why.find("its state cannot be read: NOPERM") != std::string::npos ||
             why.find("is a replica, not a master") != std::string::npos;
    })) << s->status().reason;
  }
}

/// Fault matrix: SCRIPT LOAD is not allowed | it is named when nobody else loaded the scripts, and
/// by `doctor` at any time
TEST(redlock_pitfalls, a_script_load_that_is_refused_is_named) {
  five_nodes nodes(3, {.users = bob_without("script|load")});
  nodes.init();
  auto st = store::open(as_bob(nodes.url()));
  ASSERT_TRUE(st) << st.error().message();
  const auto told = st->diagnose();
  ASSERT_TRUE(told) << told.error().message();
  std::size_t faults = 0;
  for (const finding& f : *told) {
    const bool names_it = f.text.find("refuses SCRIPT LOAD: NOPERM") != std::string::npos;
    if (f.severity == severity::fault && names_it) ++faults;
  }
  EXPECT_EQ(faults, 3U);
  nodes.everywhere({"SCRIPT", "FLUSH"});
  const auto s = holdfast::open(as_bob(nodes.url("ttl=1s")));
  ASSERT_FALSE(s);
  EXPECT_THAT(s.error().message(), HasSubstr("refuses SCRIPT LOAD: NOPERM"));
  EXPECT_THAT(s.error().message(), HasSubstr("(allow +script"));
}

/// Fault matrix: a release is not allowed | its error names what the nodes said
TEST(redlock_pitfalls, a_release_that_is_refused_is_not_called_unanswered) {
  five_nodes nodes(3, {.users = bob_without("del")});
  nodes.init();
  auto s = holdfast::open(as_bob(nodes.url()));
  ASSERT_TRUE(s) << s.error().message();
  auto l = s->try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  const auto left = std::move(*l).release();
  ASSERT_FALSE(left);
  EXPECT_THAT(left.error().message(), HasSubstr("said: NOPERM"));
  EXPECT_THAT(left.error().message(), HasSubstr("(allow +del: "));
  EXPECT_THAT(left.error().message(), testing::Not(HasSubstr("answered the release in time")));
}

/// Its destructor runs last. What follows looks for leaks, and on a busy machine the program's end
/// stops a loop in the middle of what it does.
struct last_of_all {
  last_of_all() = default;
  last_of_all(const last_of_all&) = delete;
  last_of_all& operator=(const last_of_all&) = delete;
  ~last_of_all() {
    if (ends_here) ::_exit(0);
  }
  bool ends_here{};
} last_of_all;
std::optional<session> kept_till_the_end;
std::optional<lock> held_till_the_end;

struct closed_at_the_end {
  closed_at_the_end() = default;
  closed_at_the_end(const closed_at_the_end&) = delete;
  closed_at_the_end& operator=(const closed_at_the_end&) = delete;
  ~closed_at_the_end() {
    if (!is) return;
    const bool refused = is->try_acquire(lock_name("b")).error() == errc::unavailable &&
                         is->close().error() == errc::unavailable;
    if (!refused) ::_exit(2);
  }
  std::optional<session> is;
} closed_at_the_end;

/// Fault matrix: a session and a lock with static storage | the program ends all the same
TEST(redlock_pitfalls, objects_with_static_storage_do_not_keep_a_program_from_ending) {
#if HOLDFAST_UNDER_TSAN
  GTEST_SKIP() << "TSan allows no threads after the fork of a process that has some";
#endif
  five_nodes nodes(1);
  nodes.init();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    last_of_all.ends_here = true;
    kept_till_the_end.emplace(nodes.open());
    auto l = kept_till_the_end->try_acquire(lock_name("a"));
    if (!l) ::_exit(1);
    held_till_the_end.emplace(std::move(*l));
    closed_at_the_end.is.emplace(nodes.open());
    std::exit(0);
  }
  int how{};
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_EQ(how, 0);
}

/// Fault matrix: clients with different node lists | the one that differs is refused
TEST(redlock_pitfalls, another_list_of_nodes_is_refused) {
  five_nodes nodes(5);
  nodes.init();
  std::string three = "redlock://";
  for (std::size_t i = 0; i < 3; ++i) three += (i == 0 ? "" : ",") + nodes[i].address();
  const auto s = holdfast::open(three);
  EXPECT_EQ(s.error(), errc::invalid_argument);
  EXPECT_THAT(s.error().message(), HasSubstr("another list of nodes"));
}

TEST(redlock_pitfalls, a_plain_connection_to_a_closed_port_says_which) {
  five_nodes nodes(1);
  const std::string at = nodes[0].address();
  nodes.kill(0);
  const auto s = holdfast::open("redlock://" + at);
  EXPECT_EQ(s.error(), errc::unavailable);
  EXPECT_THAT(s.error().message(), HasSubstr(at));
}

}  // namespace

}  // namespace holdfast::redlock_tests
