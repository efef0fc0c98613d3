#include <holdfast/session.hpp>

#include "client/engines_fixture.hpp"
#include "client/outcome_fixture.hpp"
#include "client/session_core.hpp"

#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <mutex>
#include <thread>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using client::testing::code;
using client::testing::eventually;

std::string fresh_url() {
  static std::atomic<int> n{};
  return "memory:session_test_" + std::to_string(++n);
}

session must_open(const std::string& url, session_options o = {}) {
  auto s = open(url, std::move(o));
  if (!s) ADD_FAILURE() << s.error().message();
  return std::move(*s);
}

TEST(session, acquires_and_releases) {
  auto s = must_open(fresh_url());
  auto got = s.acquire(lock_name("a"));
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_GT(got->token().value, 0U);
  EXPECT_TRUE(got->check());
  EXPECT_GT(got->remaining(), 10s);
  EXPECT_LE(got->remaining(), 30s);
  const auto first = got->token();
  EXPECT_TRUE(std::move(*got).release());
  auto again = s.acquire(lock_name("a"));
  ASSERT_TRUE(again);
  EXPECT_GT(again->token(), first);
}

TEST(session, a_try_finds_it_busy_and_says_who_holds_it) {
  const auto url = fresh_url();
  auto a = must_open(url, {.program = "nightly", .label = "backup"});
  auto b = must_open(url);
  auto held = a.acquire(lock_name("x"));
  ASSERT_TRUE(held);
  const auto got = b.try_acquire(lock_name("x"));
  ASSERT_EQ(code(got), errc::busy);
  EXPECT_NE(got.error().message().find("nightly"), std::string::npos) << got.error().message();
  EXPECT_NE(got.error().message().find("memory:"), std::string::npos) << got.error().message();
}

TEST(session, the_same_name_twice_is_busy_at_once_even_with_a_wait) {
  auto s = must_open(fresh_url());
  auto held = s.acquire(lock_name("x"));
  ASSERT_TRUE(held);
  const auto began = clock::now();
  EXPECT_EQ(code(s.acquire(lock_name("x"), {.wait = forever})), errc::busy);
  EXPECT_LT(clock::now() - began, 20s);
}

TEST(session, a_wait_that_runs_out_times_out_and_leaves_nothing) {
  const auto url = fresh_url();
  auto a = must_open(url);
  auto b = must_open(url);
  auto held = a.acquire(lock_name("x"));
  ASSERT_TRUE(held);
  const auto began = clock::now();
  const auto late = b.acquire(lock_name("x"), {.wait = 60ms});
  ASSERT_EQ(code(late), errc::timed_out);
  EXPECT_GE(clock::now() - began, 60ms);
  EXPECT_NE(late.error().message().find("; the holder asked for it "), std::string::npos);
  EXPECT_NE(late.error().message().find("; waited "), std::string::npos);
  EXPECT_LT(clock::now() - began, 20s);
  auto seen = store::open(url)->list();
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->locks.size(), 1U);
  EXPECT_EQ(seen->locks[0].entries.size(), 1U);
}

TEST(session, a_cancelled_wait_ends_at_once) {
  const auto url = fresh_url();
  auto a = must_open(url);
  auto b = must_open(url);
  auto held = a.acquire(lock_name("x"));
  ASSERT_TRUE(held);
  std::stop_source stop;
  std::jthread later([&] {
    std::this_thread::sleep_for(30ms);
    stop.request_stop();
  });
  acquire_options o{.wait = forever, .stop = stop.get_token()};
  const auto began = clock::now();
  EXPECT_EQ(code(b.acquire(lock_name("x"), std::move(o))), errc::cancelled);
  EXPECT_LT(clock::now() - began, 20s);
}

TEST(session, a_stop_that_was_requested_before_holds_nothing) {
  auto s = must_open(fresh_url());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(code(s.acquire(lock_name("x"), {.wait = 1s, .stop = stop.get_token()})),
            errc::cancelled);
  EXPECT_TRUE(s.acquire(lock_name("x")));
}

TEST(session, a_release_hands_over_to_the_waiter) {
  const auto url = fresh_url();
  auto a = must_open(url);
  auto b = must_open(url);
  // A busy machine may wake somebody late, but not every time.
  duration fastest = duration::max();
  for (int round = 0; round < 20 && fastest > 150ms; ++round) {
    auto held = a.acquire(lock_name("x"));
    ASSERT_TRUE(held);
    std::jthread later([&] {
      std::this_thread::sleep_for(20ms);
      EXPECT_TRUE(std::move(*held).release());
    });
    const auto began = clock::now();
    auto got = b.acquire(lock_name("x"), {.wait = 30s});
    ASSERT_TRUE(got) << got.error().message();
    fastest = std::min(fastest, clock::now() - began);
  }
  EXPECT_LT(fastest, 150ms) << "woken by the poll, not by the release";
}

TEST(session, bad_arguments_are_refused_with_a_reason) {
  auto s = must_open(fresh_url());
  EXPECT_EQ(code(s.acquire(lock_name(""))), errc::invalid_argument);
  EXPECT_EQ(code(s.acquire(lock_name(std::string(513, 'x')))), errc::invalid_argument);
  EXPECT_TRUE(s.acquire(lock_name(std::string(512, 'x'))));
  EXPECT_EQ(code(s.acquire(lock_name("a\nb"))), errc::invalid_argument);
  EXPECT_EQ(code(s.acquire(lock_name(std::string("a\0b", 3)))), errc::invalid_argument);
  EXPECT_EQ(code(s.acquire(lock_name("a"), {.wait = -1ns})), errc::invalid_argument);
  EXPECT_EQ(code(s.try_acquire(lock_name("a"), mode::permits(0))), errc::invalid_argument);
  EXPECT_EQ(code(s.try_acquire(lock_name("a"), mode::permits(mode::permits_max + 1))),
            errc::invalid_argument);
  EXPECT_TRUE(s.try_acquire(lock_name("a"), mode::permits(mode::permits_max)));
  const auto many = s.try_acquire(lock_name("b"), mode::permits(20'000));
  ASSERT_EQ(code(many), errc::invalid_argument) << "no more than 10000 may hold a name";
  EXPECT_NE(many.error().message().find("from 1 to 10000"), std::string::npos);
}

TEST(session, a_ttl_out_of_bounds_is_refused) {
  const auto url = fresh_url();
  EXPECT_EQ(code(open(url, {.ttl = 0ns})), errc::invalid_argument);
  EXPECT_EQ(code(open(url, {.ttl = -1s})), errc::invalid_argument);
  EXPECT_EQ(code(open(url, {.ttl = 99ms})), errc::invalid_argument);
  EXPECT_EQ(code(open(url, {.ttl = 1h + 1ns})), errc::invalid_argument);
  EXPECT_TRUE(open(url, {.ttl = 1h}));
  EXPECT_EQ(code(open(url + "?max_ttl=10s", {.ttl = 11s})), errc::invalid_argument);
  EXPECT_EQ(must_open(url + "?ttl=7s").ttl(), 7s);
  EXPECT_EQ(code(open(url + "?ttl=7")), errc::invalid_argument);
  EXPECT_EQ(code(open(url, {.label = std::string(257, 'x')})), errc::invalid_argument);
  EXPECT_EQ(code(open(url, {.program = "a\nb"})), errc::invalid_argument);
  EXPECT_EQ(code(open(url, {.instance = "a\x7f"})), errc::invalid_argument);
  EXPECT_EQ(code(open(url, {.label = "\x1b[2Ja"})), errc::invalid_argument);
  EXPECT_TRUE(open(url, {.program = "\xc3\xa4", .instance = "b c", .label = "~"}));
}

TEST(session, an_unknown_scheme_is_named_and_so_are_those_built_in) {
  for (const char* url : {"nosuch://host", "nosuch://", "nosuch://h?ttl=5", "NoSuch+tls:%"}) {
    const auto unknown = open(url);
    ASSERT_EQ(code(unknown), errc::invalid_argument);
    EXPECT_NE(unknown.error().message().find("'nosuch'; built in: '"), std::string::npos) << url;
    EXPECT_NE(unknown.error().message().find("memory:"), std::string::npos);
  }
  // As other clients of Redis write it.
  EXPECT_NE(open("rediss://host").error().message().find("'redis+tls:'"), std::string::npos);
}

TEST(session, modes_are_respected) {
  const auto url = fresh_url();
  auto a = must_open(url);
  auto b = must_open(url);
  auto c = must_open(url);
  auto r1 = a.try_acquire(lock_name("s"), mode::shared());
  auto r2 = b.try_acquire(lock_name("s"), mode::shared());
  EXPECT_TRUE(r1);
  EXPECT_TRUE(r2);
  EXPECT_EQ(code(c.try_acquire(lock_name("s"))), errc::busy);
  auto p1 = a.try_acquire(lock_name("p"), mode::permits(2));
  auto p2 = b.try_acquire(lock_name("p"), mode::permits(2));
  EXPECT_TRUE(p1);
  EXPECT_TRUE(p2);
  EXPECT_EQ(code(c.try_acquire(lock_name("p"), mode::permits(2))), errc::busy);
  EXPECT_EQ(code(c.try_acquire(lock_name("p"), mode::permits(3))), errc::mode_conflict);
  EXPECT_EQ(code(c.try_acquire(lock_name("p"))), errc::mode_conflict);
}

TEST(session, close_ends_every_lock_and_a_second_close_is_a_success) {
  const auto url = fresh_url();
  auto s = must_open(url);
  auto held = s.acquire(lock_name("x"));
  ASSERT_TRUE(held);
  const auto lost = held->lost();
  std::atomic<int> heard{};
  held->on_lost([&](const error&) { ++heard; });
  EXPECT_TRUE(s.close());
  EXPECT_TRUE(lost.stop_requested());
  EXPECT_EQ(heard, 1);
  EXPECT_EQ(code(held->check()), errc::lost);
  EXPECT_EQ(held->remaining(), 0ns);
  EXPECT_EQ(s.status().state, session_state::closed);
  EXPECT_TRUE(s.close());
  EXPECT_EQ(code(std::move(*held).release()), errc::lost);
  EXPECT_EQ(code(s.acquire(lock_name("y"))), errc::lost);
  EXPECT_TRUE(must_open(url).acquire(lock_name("x")));
}

TEST(session, a_close_ends_a_wait) {
  const auto url = fresh_url();
  auto a = must_open(url);
  auto b = must_open(url);
  auto held = a.acquire(lock_name("x"));
  ASSERT_TRUE(held);
  std::jthread later([&] {
    std::this_thread::sleep_for(30ms);
    EXPECT_TRUE(b.close());
  });
  EXPECT_EQ(code(b.acquire(lock_name("x"), {.wait = forever})), errc::lost);
}

TEST(session, heartbeats_keep_a_short_session_alive) {
  auto s = must_open(fresh_url(), {.ttl = 2s});
  auto held = s.acquire(lock_name("x"));
  ASSERT_TRUE(held);
  std::this_thread::sleep_for(4200ms);
  EXPECT_TRUE(held->check());
  EXPECT_EQ(s.status().state, session_state::attached);
}

TEST(session, a_denied_session_loses_its_locks_and_stays_denied) {
  const auto url = fresh_url();
  auto s = must_open(url, {.ttl = 2s});
  auto held = s.acquire(lock_name("x"));
  ASSERT_TRUE(held);
  auto ops = store::open(url);
  const auto denied = ops->deny(s.id(), "me", "test");
  ASSERT_TRUE(denied);
  EXPECT_FALSE(denied->already);
  EXPECT_GE(denied->free_within, 1s);
  EXPECT_TRUE(ops->deny(s.id(), "me", "test")->already);
  EXPECT_TRUE(eventually([&] { return held->lost().stop_requested(); }));
  EXPECT_EQ(s.status().state, session_state::denied);
  EXPECT_EQ(s.status().reason, "an operator (me) denied it: test");
  const auto refused = std::move(*held).release();
  ASSERT_EQ(code(refused), errc::lost);
  EXPECT_NE(refused.error().message().find("an operator (me) denied it: test"), std::string::npos);
  EXPECT_EQ(code(s.acquire(lock_name("y"))), errc::denied);
  auto b = must_open(url);
  EXPECT_TRUE(b.acquire(lock_name("x"), {.wait = 30s}));
}

TEST(session, that_was_denied_frees_its_locks_when_it_is_closed) {
  const auto url = fresh_url();
  auto ops = store::open(url);
  auto b = must_open(url);
  for (const bool destroyed : {false, true}) {
    auto s = std::make_optional(must_open(url, {.ttl = 1h}));
    auto held = s->acquire(lock_name("x"));
    ASSERT_TRUE(held && ops->deny(s->id(), "me", "test"));
    // Instead of the next heartbeat.
    EXPECT_EQ(code(s->acquire(lock_name("y"))), errc::denied);
    EXPECT_EQ(code(b.try_acquire(lock_name("x"))), errc::busy) << "its holder may still work";
    if (destroyed) {
      s.reset();
    } else {
      EXPECT_TRUE(s->close());
      EXPECT_EQ(s->status().state, session_state::denied);
      EXPECT_TRUE(s->close());
    }
    EXPECT_EQ(code(b.try_acquire(lock_name("x"))), errc{});
  }
}

TEST(session, acquire_all_takes_all_or_none) {
  const auto url = fresh_url();
  auto a = must_open(url);
  auto b = must_open(url);
  auto in_the_way = b.acquire(lock_name("m"));
  ASSERT_TRUE(in_the_way);
  EXPECT_EQ(code(a.acquire_all({lock_name("z"), lock_name("m"), lock_name("a")})), errc::busy);
  EXPECT_TRUE(b.acquire(lock_name("a"))) << "what was taken was not given back";
  EXPECT_TRUE(std::move(*in_the_way).release());
  auto all = a.acquire_all({lock_name("z"), lock_name("m"), lock_name("a")});
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ((*all)[0].name().str(), "z");
  EXPECT_EQ((*all)[2].name().str(), "a");
  EXPECT_EQ(code(a.acquire_all({})), errc::invalid_argument);
  EXPECT_EQ(code(a.acquire_all({lock_name("q"), lock_name("q")})), errc::invalid_argument);
}

TEST(session, eight_threads_never_hold_one_name_together) {
  const auto url = fresh_url();
  const auto keeps_the_store = must_open(url);
  std::atomic<int> inside{};
  int counted = 0;
  std::uint64_t last = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        auto s = must_open(url);
        for (int i = 0; i < 50; ++i) {
          auto got = s.acquire(lock_name("counter"), {.wait = 60s});
          ASSERT_TRUE(got) << got.error().message();
          EXPECT_EQ(inside.fetch_add(1), 0);
          ++counted;
          EXPECT_GT(got->token().value, last);
          last = got->token().value;
          inside.fetch_sub(1);
          EXPECT_TRUE(std::move(*got).release());
        }
      });
    }
  }
  EXPECT_EQ(counted, 400);
}

TEST(session, two_threads_use_one_session) {
  auto s = must_open(fresh_url());
  std::vector<std::jthread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&s, t] {
      for (int i = 0; i < 500; ++i) {
        auto got = s.acquire(lock_name("n" + std::to_string(t)));
        ASSERT_TRUE(got) << got.error().message();
      }
    });
  }
}

TEST(session, the_callback_form_runs_once_and_never_inside_somebody_elses_release) {
  const auto url = fresh_url();
  auto a = must_open(url);
  auto b = must_open(url);
  auto held = a.acquire(lock_name("x"));
  ASSERT_TRUE(held);
  std::atomic<int> calls{};
  std::thread::id where{};
  std::latch done(1);
  std::optional<lock> got;
  b.acquire(lock_name("x"), {.wait = 30s}, [&](result<lock> r) {
    ++calls;
    where = std::this_thread::get_id();
    if (r) got.emplace(std::move(*r));
    done.count_down();
  });
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(std::move(*held).release());
  done.wait();
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(got);
  EXPECT_NE(where, std::this_thread::get_id());
  int inline_calls = 0;
  b.acquire(lock_name("free"), {}, [&](result<lock>) { ++inline_calls; });
  EXPECT_EQ(inline_calls, 1);
}

TEST(session, an_engine_that_answers_on_another_thread_works_the_same) {
  auto opened = client::testing::memory("remote");
  opened.engine = std::make_shared<client::testing::remote_engine>(opened.engine);
  opened.url = "memory:remote-threaded";
  auto core = client::session_core::open(client::store_core::on(opened, 2s, 1h), {});
  ASSERT_TRUE(core);
  auto a = client::session_core::make_session(*core);
  auto b = must_open("memory:remote");
  for (int i = 0; i < 20; ++i) {
    auto held = b.acquire(lock_name("x"));
    ASSERT_TRUE(held);
    EXPECT_EQ(code(a.try_acquire(lock_name("x"))), errc::busy);
    std::jthread later([&] { EXPECT_TRUE(std::move(*held).release()); });
    auto got = a.acquire(lock_name("x"), {.wait = 30s});
    ASSERT_TRUE(got) << got.error().message();
  }
  std::this_thread::sleep_for(2500ms);
  EXPECT_EQ(a.status().state, session_state::attached);
  EXPECT_TRUE(a.close());
}

}  // namespace
}  // namespace holdfast
