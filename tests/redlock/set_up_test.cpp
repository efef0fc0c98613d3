#include "core/lease.hpp"
#include "tests/redlock/five_nodes.hpp"

#include <holdfast/duration.hpp>
#include <holdfast/redlock.hpp>
#include <holdfast/store.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace holdfast::redlock_tests {

using testing::HasSubstr;

namespace {

TEST(redlock_set_up, a_deny_in_a_store_that_was_not_set_up_says_how) {
  five_nodes nodes(1);
  auto view = store::open(nodes.url()).value();
  const auto denied = view.deny(session_id{}, "me", "test");
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error(), errc::not_initialised) << denied.error().message();
  EXPECT_THAT(denied.error().message(), HasSubstr("holdfast redlock init"));
}

TEST(redlock_set_up, a_look_at_a_store_that_was_not_set_up_names_what_is_wrong_with_its_nodes) {
  five_nodes nodes(2);
  const std::string again = "localhost:" + std::to_string(nodes[0].port());
  const std::string list = nodes[0].address() + "," + again + "," + nodes[1].address();
  const auto seen = store::open("redlock://" + list).value().list();
  ASSERT_FALSE(seen) << seen->lacks;
  EXPECT_EQ(seen.error(), errc::invalid_argument) << "as a session and a deny say";
  EXPECT_THAT(seen.error().message(), HasSubstr("is the same server as"));
  // Where there are records there may be locks, whatever else is wrong.
  nodes.init();
  const auto partly = store::open("redlock://" + list).value().list();
  ASSERT_TRUE(partly) << partly.error().message();
  EXPECT_THAT(partly->lacks, HasSubstr("of 3 nodes vote"));
  // So there may without records where there are to be none.
  nodes.everywhere({"FLUSHALL"});
  EXPECT_TRUE(store::open("redlock://" + list + "?tokens=off").value().list());
}

TEST(redlock_set_up, a_deny_that_too_few_nodes_took_says_why) {
  five_nodes nodes(3);
  nodes.init();
  session s = nodes.open("ttl=60s");
  const auto refusal = [&s](const std::string& url) {
    const auto denied = store::open(url).value().deny(s.id(), "me", "test");
    EXPECT_FALSE(denied);
    return denied ? error(errc::busy, "it is denied") : denied.error();
  };
  const error other = refusal("redlock://" + nodes[0].address() + "," + nodes[1].address());
  EXPECT_EQ(other, errc::invalid_argument) << "no repeating helps";
  EXPECT_THAT(other.message(), HasSubstr("belongs to another list of nodes"));
  for (const std::size_t i : {0U, 1U}) nodes.kill(i);
  const error some = refusal(nodes.url("ttl=5s", 1));
  EXPECT_EQ(some, errc::outcome_unknown);
  EXPECT_THAT(some.message(), HasSubstr("it is denied on 1 of 3 nodes, needed are 2; "));
  EXPECT_THAT(some.message(), HasSubstr("Connection refused"));
  nodes.kill(2);
  const error none = refusal(nodes.url("ttl=5s", 2));
  EXPECT_EQ(none, errc::unavailable);
  EXPECT_THAT(none.message(), HasSubstr("Connection refused"));
}

TEST(redlock_set_up, whose_records_are_those_of_another_init_is_told_that_all_nodes_vote) {
  five_nodes nodes(3);
  bool met = false;
  for (int round = 0; round < 100 && !met; ++round) {
    nodes.everywhere({"FLUSHALL"});
    std::string mine;
    std::string others;
    const auto set_up = [&nodes](std::string& said) {
      if (const auto done = redlock::init(nodes.url()); !done) said = done.error().message();
    };
    std::thread other([&] { set_up(others); });
    set_up(mine);
    other.join();
    for (const std::string& said : {mine, others}) {
      EXPECT_THAT(said, testing::Not(HasSubstr("3 of 3 nodes vote")));
      met = met || said.find("All nodes vote, and locks can be granted") != std::string::npos;
    }
  }
  EXPECT_TRUE(met) << "no two wrote at once";
}

TEST(redlock_set_up, a_max_ttl_out_of_range_is_refused_and_nothing_is_written) {
  five_nodes nodes(1);
  for (const duration wrong : {duration{-1s}, duration{-1}, duration{1ms}, duration{61min}}) {
    for (const auto& done : {redlock::init(nodes.url(), {.max_ttl = wrong}),
                             redlock::recover(nodes.url(), {.max_ttl = wrong})}) {
      ASSERT_FALSE(done) << print_duration(wrong);
      EXPECT_EQ(done.error(), errc::invalid_argument);
      EXPECT_THAT(done.error().message(), HasSubstr("max_ttl is " + print_duration(wrong)));
    }
  }
  EXPECT_EQ(nodes.count("holdfast:node"), 0U);
}

TEST(redlock_set_up, a_max_ttl_of_part_of_a_millisecond_is_rounded_up_and_no_change_later) {
  five_nodes nodes(1);
  const auto made = redlock::init(nodes.url(), {.max_ttl = 7s + 500us});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->nodes.at(0).max_ttl, 7001ms);
  const auto same = redlock::recover(nodes.url(), {.max_ttl = 7s + 500us});
  ASSERT_TRUE(same) << same.error().message();
  EXPECT_THAT(same->advice, HasSubstr("nothing was written"));
  EXPECT_EQ(same->nodes.at(0).epoch, made->nodes.at(0).epoch);
  five_nodes named(1);
  const auto by_url = redlock::init(named.url("max_ttl=7000500us"));
  ASSERT_TRUE(by_url) << by_url.error().message();
  EXPECT_EQ(by_url->nodes.at(0).max_ttl, 7001ms);
  EXPECT_EQ(by_url->advice, "") << "the records say what the URL says";
}

TEST(redlock_set_up, setting_up_an_even_number_of_nodes_tells_to_use_an_odd_one) {
  for (const std::size_t n : {1U, 2U}) {
    five_nodes nodes(n);
    const auto done = redlock::init(nodes.url());
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(done->advice.find("use an odd number") != std::string::npos, n == 2) << done->advice;
  }
}

TEST(redlock_set_up, a_ttl_below_two_node_timeouts_is_refused_and_advised_against) {
  five_nodes nodes(1);
  nodes.init();
  const auto named = holdfast::open(nodes.url("ttl=999ms&node_timeout=500ms"));
  EXPECT_EQ(named.error(), errc::invalid_argument);
  EXPECT_THAT(named.error().message(), HasSubstr("is 1s: a node may take 500ms (node_timeout)"));
  auto view = store::open(nodes.url("node_timeout=500ms")).value();
  EXPECT_EQ(view.open_session({.ttl = 999ms}).error(), errc::invalid_argument);
  const auto less = view.advise_ttl(999ms);
  ASSERT_TRUE(less) << less.error().message();
  EXPECT_EQ(less->severity, severity::fault) << "no session may have it";
  EXPECT_THAT(less->text, HasSubstr("(node_timeout)"));
  const auto least = view.advise_ttl(1s);
  ASSERT_TRUE(least) << least.error().message();
  EXPECT_NE(least->severity, severity::fault) << least->text;
  EXPECT_TRUE(view.open_session({.ttl = 1s}));
}

void let_drop_keys(server& s, const std::string& policy) {
  s.command({"CONFIG", "SET", "maxmemory", "100mb"});
  s.command({"CONFIG", "SET", "maxmemory-policy", policy});
}

/// Fault matrix: nodes may drop keys when memory is short | they do not vote unless the URL accepts
/// it, and the reason says so
TEST(redlock_set_up, a_node_that_may_drop_keys_does_not_vote_unless_that_is_accepted) {
  five_nodes nodes(3);
  nodes.init();
  // The one keeps its record and drops locks, which have a ttl.
  let_drop_keys(nodes[0], "volatile-lru");
  let_drop_keys(nodes[1], "allkeys-lru");
  for (const std::string tokens : {"", "&tokens=off&assume_fresh=yes"}) {
    const auto refused = holdfast::open(nodes.url("ttl=5s&node_timeout=1s" + tokens));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), errc::invalid_argument) << refused.error().message();
    for (const auto* said : {"1 of 3 nodes vote", "(maxmemory-policy volatile-lru)",
                             "(maxmemory-policy allkeys-lru)", "may_evict=yes"}) {
      EXPECT_THAT(refused.error().message(), HasSubstr(said));
    }
    const auto accepted =
        holdfast::open(nodes.url("ttl=5s&node_timeout=1s&may_evict=yes" + tokens));
    EXPECT_TRUE(accepted) << accepted.error().message();
  }
}

/// Fault matrix: a node that votes is set to drop keys, and back | it votes no more, and then
/// again, while clients are connected
TEST(redlock_set_up, a_policy_that_changes_is_seen_by_those_who_are_connected) {
  five_nodes nodes(3);
  nodes.init();
  const std::string url = nodes.url("ttl=5s&node_timeout=1s");
  session s = holdfast::open(url).value();
  const auto can_lock = [&s] { return s.try_acquire(lock_name("a")).has_value(); };
  ASSERT_TRUE(can_lock());
  for (const std::size_t i : {0U, 1U}) let_drop_keys(nodes[i], "volatile-ttl");
  EXPECT_TRUE(process::eventually([&] { return !can_lock(); }));
  for (const std::size_t i : {0U, 1U}) let_drop_keys(nodes[i], "noeviction");
  EXPECT_TRUE(process::eventually(can_lock));
}

/// Fault matrix: a node that drops keys when memory is short lost its record | its status says why
TEST(redlock_set_up, the_status_of_a_node_that_is_out_names_its_eviction) {
  five_nodes nodes(3);
  nodes.init();
  for (const std::size_t i : {0U, 1U}) let_drop_keys(nodes[i], "allkeys-lru");
  nodes[0].command({"DEL", "holdfast:node"});
  const auto seen = redlock::status(nodes.url("ttl=5s&may_evict=yes"));
  ASSERT_TRUE(seen) << seen.error().message();
  EXPECT_THAT(seen->nodes.at(0).standing, HasSubstr("lost its state"));
  EXPECT_THAT(seen->nodes.at(0).standing, HasSubstr("; it drops keys"));
  EXPECT_THAT(seen->nodes.at(0).standing, HasSubstr("Set maxmemory-policy noeviction"));
  EXPECT_EQ(seen->nodes.at(1).standing, "votes") << "doctor is for those";
  const auto refused = redlock::status(nodes.url());
  ASSERT_TRUE(refused) << refused.error().message();
  for (const std::size_t i : {0U, 1U}) {
    const std::string& standing = refused->nodes.at(i).standing;
    EXPECT_EQ(standing.rfind("drops keys"), 0U) << "once, and first: " << standing;
  }
}

TEST(redlock_set_up, a_denied_session_without_a_record_is_free_within_the_max_ttl_of_the_nodes) {
  five_nodes nodes(1);
  nodes.init(40s);
  session s = nodes.open("ttl=30s");
  const auto held = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(held) << held.error().message();
  nodes.everywhere({"DEL", "holdfast:session:" + s.id().str()});
  const auto denied = store::open(nodes.url()).value().deny(s.id(), "me", "test");
  ASSERT_TRUE(denied) << denied.error().message();
  EXPECT_EQ(denied->free_within, core::takeover_after(40s)) << "nothing knows its own ttl";
}

}  // namespace
}  // namespace holdfast::redlock_tests
