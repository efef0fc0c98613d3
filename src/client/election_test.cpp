#include <holdfast/election.hpp>

#include "client/outcome_fixture.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using client::testing::code;

election must_open(const std::string& url) {
  auto e = election::open(url, lock_name("head"));
  EXPECT_TRUE(e) << e.error().message();
  return std::move(*e);
}

TEST(election, has_no_leader_until_somebody_is_elected) {
  auto e = must_open("memory:election1");
  EXPECT_EQ(*e.current(), std::nullopt);
  EXPECT_EQ(*e.wait_for_other({}, 0ns), std::nullopt);
  auto led = e.campaign("host-a:80");
  ASSERT_TRUE(led) << led.error().message();
  const auto seen = e.current();
  ASSERT_TRUE(seen && *seen);
  EXPECT_EQ((*seen)->value, "host-a:80");
  EXPECT_EQ((*seen)->term, led->term());
  EXPECT_EQ((*seen)->session, led->session_id());
  EXPECT_GT(led->term().value, 0U);
  EXPECT_TRUE(led->check());
  EXPECT_GT(led->remaining(), 0ns);
}

TEST(election, passes_to_the_next_candidate_in_a_later_term) {
  auto e = must_open("memory:election2");
  auto first = e.campaign("a");
  ASSERT_TRUE(first);
  EXPECT_EQ(code(e.campaign("b", {.wait = 0ns})), errc::busy);
  EXPECT_EQ(code(e.campaign("b", {.wait = 30ms})), errc::timed_out);
  const token term = first->term();
  const auto known = e.current();
  std::jthread next([&] {
    auto second = e.campaign("b");
    ASSERT_TRUE(second) << second.error().message();
    EXPECT_GT(second->term(), term);
    const auto seen = e.current();
    ASSERT_TRUE(seen && *seen);
    EXPECT_EQ((*seen)->value, "b");
    EXPECT_TRUE(std::move(*second).resign());
  });
  EXPECT_TRUE(std::move(*first).resign());
  const auto other = e.wait_for_other(*known, 30s);
  ASSERT_TRUE(other);
  EXPECT_NE(*other, *known);
}

TEST(election, is_watched_until_the_leader_leaves) {
  auto e = must_open("memory:election3");
  auto led = e.campaign("a");
  ASSERT_TRUE(led);
  const auto known = e.current();
  EXPECT_EQ(*e.wait_for_other(*known, 20ms), *known) << "the time is over and it leads";
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(*e.wait_for_other(*known, forever, stop.get_token()), *known);
  EXPECT_EQ(code(e.wait_for_other(*known, -1ns)), errc::invalid_argument);
  std::jthread later([&] {
    std::this_thread::sleep_for(50ms);
    EXPECT_TRUE(std::move(*led).resign());
  });
  EXPECT_EQ(*e.wait_for_other(*known, 30s), std::nullopt);
}

TEST(election, tells_a_leader_that_was_denied_and_leaves_its_place) {
  auto e = must_open("memory:election4");
  auto ops = store::open("memory:election4");
  auto led = e.campaign("a", {.ttl = 2s});
  ASSERT_TRUE(led && ops);
  std::promise<errc> heard;
  led->on_lost([&](const error& why) { heard.set_value(why.code()); });
  ASSERT_TRUE(ops->deny(led->session_id(), "me", "test"));
  auto next = e.campaign("b", {.wait = 30s});
  ASSERT_TRUE(next) << next.error().message();
  auto why = heard.get_future();
  ASSERT_EQ(why.wait_for(30s), std::future_status::ready);
  EXPECT_EQ(why.get(), errc::denied);
  EXPECT_TRUE(led->lost().stop_requested());
  EXPECT_EQ(code(led->check()), errc::lost);
  EXPECT_EQ(led->remaining(), 0ns);
  EXPECT_EQ(code(std::move(*led).resign()), errc::lost);
}

TEST(election, is_left_by_a_leadership_that_another_is_assigned_to) {
  auto a = must_open("memory:election5");
  auto other = election::open("memory:election5", lock_name("other"));
  auto mine = a.campaign("1");
  auto more = other->campaign("2");
  ASSERT_TRUE(mine && more);
  const token term = more->term();
  *mine = std::move(*more);
  EXPECT_EQ(mine->term(), term);
  EXPECT_TRUE(mine->check());
  EXPECT_EQ(*a.current(), std::nullopt);
  EXPECT_TRUE(*other->current());
}

TEST(election, is_resigned_from_by_a_leadership_that_its_observer_ends) {
  struct ender : observer {
    using observer::on;
    void on(const event::released&) noexcept override { leads.reset(); }
    std::unique_ptr<leadership> leads;
  };
  auto e = must_open("memory:election11");
  const auto ends = std::make_shared<ender>();
  auto led = e.campaign("a", {.observer = ends});
  ASSERT_TRUE(led);
  ends->leads = std::make_unique<leadership>(std::move(*led));
  auto& leads = *ends->leads;
  EXPECT_TRUE(std::move(leads).resign());
  EXPECT_FALSE(ends->leads);
  EXPECT_EQ(*e.current(), std::nullopt);
}

TEST(election, is_cancelled_and_leaves_no_candidate) {
  auto e = must_open("memory:election6");
  auto ops = store::open("memory:election6");
  auto led = e.campaign("a");
  ASSERT_TRUE(led && ops);
  std::stop_source stop;
  std::jthread later([&] {
    std::this_thread::sleep_for(50ms);
    stop.request_stop();
  });
  EXPECT_EQ(code(e.campaign("b", {.stop = stop.get_token()})), errc::cancelled);
  EXPECT_EQ(ops->list()->sessions.size(), 1U);
}

TEST(election, is_cancelled_before_it_opens_a_session) {
  struct counter : observer {
    using observer::on;
    void on(const event::session_changed&) noexcept override { ++changes; }
    std::atomic<int> changes{0};
  };
  auto e = must_open("memory:election10");
  const auto seen = std::make_shared<counter>();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(code(e.campaign("a", {.stop = stop.get_token(), .observer = seen})), errc::cancelled);
  EXPECT_EQ(seen->changes, 0);
}

TEST(election, refuses_what_it_cannot_publish_or_call_by_name) {
  EXPECT_EQ(code(election::open("memory:election7", lock_name(""))), errc::invalid_argument);
  auto e = must_open("memory:election7");
  EXPECT_TRUE(e.campaign(std::string(election::value_max, 'x'), {.wait = 0ns}));
  const auto refused = e.campaign(std::string(election::value_max + 1, 'x'));
  ASSERT_EQ(code(refused), errc::invalid_argument);
  EXPECT_NE(refused.error().message().find("257"), std::string::npos);
  EXPECT_EQ(code(e.campaign("", {.wait = -1ns})), errc::invalid_argument);
  for (const char* value : {"a\nb", "\t", "\x7f"}) {
    EXPECT_EQ(code(e.campaign(value)), errc::invalid_argument);
  }
  EXPECT_EQ(code(e.campaign("h\xc3\xb4te", {.wait = 0ns})), errc{});
}

TEST(election, that_was_moved_from_stops_the_program_with_a_sentence) {
  auto e = must_open("memory:election12");
  const election taken(std::move(e));
  constexpr char sentence[] = "an election that was moved from was used";
  EXPECT_DEATH((void)e.name(), sentence);
  EXPECT_DEATH((void)e.url(), sentence);
  EXPECT_DEATH((void)e.current(), sentence);
  EXPECT_DEATH((void)e.campaign(""), sentence);
  EXPECT_DEATH((void)e.wait_for_other({}, 0ns), sentence);
}

TEST(election, shows_nobody_where_the_leader_s_processes_are_gone) {
  auto e = must_open("memory:election9");
  auto ops = store::open("memory:election9");
  const auto led = e.campaign("a");
  ASSERT_TRUE(led && ops);
  auto seen = ops->list().value();
  EXPECT_TRUE(leader_in(seen, lock_name("head")));
  seen.sessions.at(0).life = life::dead;
  EXPECT_FALSE(leader_in(seen, lock_name("head")));
}

TEST(election, shows_nobody_where_the_name_is_held_together) {
  auto e = must_open("memory:election8");
  auto s = holdfast::open("memory:election8");
  auto held = s->try_acquire(lock_name("head"), mode::shared());
  ASSERT_TRUE(held);
  EXPECT_EQ(*e.current(), std::nullopt);
}

}  // namespace
}  // namespace holdfast
