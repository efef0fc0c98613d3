#include "tests/redis_server/faults.hpp"
#include "tests/redis/contested.hpp"
#include "tests/redis_server/wall_clock.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>

/// What may happen to the one server, under contention.

namespace holdfast::redis_engine_tests {
namespace {

using namespace std::chrono_literals;
using redis_tests::contest;
using redis_tests::fault;

class passing : public contested, public testing::WithParamInterface<fault> {};

TEST_P(passing, contenders_go_on_when_it_is_over) {
  server s({.settings = {"--lua-time-limit", "50"}});
  contest c(founded(s));
  expect_more(c);
  GetParam().begin(s);
  std::this_thread::sleep_for(300ms);
  GetParam().end(s);
  expect_more(c);
  expect_clean_end(c);
}

INSTANTIATE_TEST_SUITE_P(faults, passing, testing::ValuesIn(redis_tests::faults::all()),
                         [](const auto& of) { return of.param.name; });

class crowd : public store_test {};

TEST_F(crowd, releases_without_an_answer_keep_no_heartbeat_out) {
  server s;
  const auto o = open(url(s, "&node_timeout=10s"));
  member one(ask(o));
  s.stop();
  const auto refused = std::make_shared<std::atomic<int>>();
  for (std::uint64_t i = 1; i <= 40'000 && *refused == 0; ++i) {
    o.engine->leave({.name = lock_name("a"), .id = one.id(), .inc = one.inc(), .request = i},
                    [refused](const core::leave_reply& r) {
                      if (r.what == status::unavailable) ++*refused;
                    });
  }
  EXPECT_GT(*refused, 0) << "the connection is not full";
  const auto answered = std::make_shared<std::promise<status>>();
  auto beat = answered->get_future();
  o.engine->beat({.id = one.id(), .inc = one.inc(), .attempt = 1},
                 [answered](const core::beat_reply& r) { answered->set_value(r.what); });
  EXPECT_EQ(beat.wait_for(0s), std::future_status::timeout) << "it was not sent";
  s.resume();
  EXPECT_EQ(beat.get(), status::ok);
}

/// Faults that take state away. Leases of a second are waited out.
class losses : public contested {};

TEST_F(losses, of_all_that_a_killed_server_had_break_no_promise) {
  server s;
  contest c(founded(s));
  for (int round = 0; round < 3; ++round) {
    expect_more(c);
    s.kill();
    s.start(server::data::wipe);
  }
  expect_more(c);
  expect_clean_end(c);
}

TEST_F(losses, killed_and_restarted_with_every_write) {
  server s({.append_only = true, .fsync = "always"});
  contest c(founded(s));
  for (int round = 0; round < 3; ++round) {
    expect_more(c);
    s.kill();
    s.start();
  }
  expect_more(c);
  expect_clean_end(c);
}

TEST_F(losses, killed_and_restarted_with_an_older_state) {
  server s;
  contest c(founded(s));
  expect_more(c);
  s.command({"SAVE"});
  expect_more(c);
  s.kill();
  s.start();
  expect_more(c);
  expect_clean_end(c);
}

TEST_F(losses, an_emptied_server_is_used_again_after_a_wait) {
  server s;
  contest c(founded(s));
  for (int round = 0; round < 3; ++round) {
    expect_more(c);
    s.command({"FLUSHALL"});
  }
  expect_more(c);
  expect_clean_end(c);
}

TEST_F(losses, a_server_with_another_database_is_used_again_after_a_wait) {
  server s;
  contest c(founded(s));
  expect_more(c);
  s.command({"SWAPDB", "0", "1"});
  expect_more(c);
  expect_clean_end(c);
}

/// A server that takes every request and answers none.
class hanging : public store_test {
 protected:
  static constexpr duration timeout = 2s;
  /// What is added to a wait and a stop: one request, and what this machine needs.
  static constexpr duration one_request = timeout + 1900ms;

  session join() const {
    auto opened = holdfast::open(url(server_, "&ttl=40s&node_timeout=1s"));
    if (!opened) throw std::runtime_error(opened.error().message());
    return std::move(*opened);
  }
  /// How long it took, and why it did not get it.
  static std::pair<duration, errc> asked(session& s, acquire_options options) {
    const auto began = clock::now();
    const auto got = s.acquire(lock_name("a"), std::move(options));
    return {clock::now() - began, got ? errc{} : got.error().code()};
  }
  /// Asked for with `wait`, while the server is stopped; stop is requested after `until`.
  void expect_bound(session& s, duration wait, duration until, errc why) {
    std::stop_source stop;
    std::jthread later;
    if (until < wait) {
      later = std::jthread([&] {
        std::this_thread::sleep_for(until);
        stop.request_stop();
      });
    }
    const auto [took, got] = asked(s, {.wait = wait, .stop = stop.get_token()});
    EXPECT_LT(took, std::min(wait, until) + one_request);
    EXPECT_EQ(got, why);
  }

  server server_;
};

TEST_F(hanging, adds_one_request_to_a_wait_and_a_stop_for_a_free_name) {
  auto waiting = join();
  auto stopped = join();
  server_.stop();
  expect_bound(waiting, 300ms, 1min, errc::outcome_unknown);
  expect_bound(stopped, 1min, 300ms, errc::outcome_unknown);
  const auto again = asked(waiting, {.wait = 1min});
  EXPECT_EQ(again.second, errc::busy) << "its name stays taken";
  server_.resume();
  for (session* s : {&waiting, &stopped}) {
    EXPECT_TRUE(process::eventually([&] { return s->try_acquire(lock_name("a")).has_value(); }));
  }
}

TEST_F(hanging, adds_one_request_to_a_wait_and_a_stop_behind_a_holder) {
  auto holder = join();
  auto held = holder.try_acquire(lock_name("a"));
  ASSERT_TRUE(held) << held.error().message();
  auto waiting = join();
  auto stopped = join();
  std::jthread later([&] {
    std::this_thread::sleep_for(500ms);
    server_.stop();
  });
  std::jthread other([&] { expect_bound(stopped, 1min, 2s, errc::cancelled); });
  const auto [took, got] = asked(waiting, {.wait = 2s});
  EXPECT_LT(took, 2s + one_request);
  EXPECT_TRUE(got == errc::timed_out || got == errc::unavailable) << name_of(got);
  other.join();
  server_.resume();
  EXPECT_TRUE(process::eventually([&] { return holder.remaining() > 30s; }));
  ASSERT_TRUE(std::move(*held).release());
  for (session* s : {&waiting, &stopped}) {
    EXPECT_TRUE(process::eventually([&] { return s->try_acquire(lock_name("a")).has_value(); }));
  }
}

// Only a few are asked at once while none is answered.
TEST_F(hanging, adds_one_request_to_the_waits_of_many) {
  auto s = join();
  ASSERT_TRUE(s.try_acquire(lock_name("warm")));
  server_.stop();
  std::vector<std::jthread> all;
  for (int i = 0; i < 64; ++i) {
    all.emplace_back([&s, i] {
      const auto began = clock::now();
      const auto got = s.acquire(lock_name("a" + std::to_string(i)), {.wait = 1s});
      EXPECT_LT(clock::now() - began, 1s + one_request);
      EXPECT_TRUE(got.error() == errc::unavailable || got.error() == errc::outcome_unknown)
          << got.error().message();
    });
  }
  all.clear();
  server_.resume();
  EXPECT_TRUE(process::eventually([&] { return s.try_acquire(lock_name("a1")).has_value(); }));
}

/// A server whose wall clock can be stepped.
class clock_steps : public contested {
 protected:
  redis_tests::wall_clock wall_;
  server s_{{.environment = wall_.environment()}};
};

TEST_F(clock_steps, change_no_lock) {
  contest c(founded(s_));
  for (const auto by : {1h, -1h, 0h}) {
    expect_more(c);
    wall_.step(by);
  }
  expect_more(c);
  expect_clean_end(c);
}

TEST_F(clock_steps, end_no_session_and_pass_no_lock) {
  auto mine = holdfast::open(founded(s_)[0]);
  ASSERT_TRUE(mine) << mine.error().message();
  auto held = mine->try_acquire(lock_name("a"));
  ASSERT_TRUE(held) << held.error().message();
  auto theirs = holdfast::open(founded(s_)[1]);
  ASSERT_TRUE(theirs) << theirs.error().message();
  for (const auto by : {1h, -1h}) {
    wall_.step(by);
    const auto refused = theirs->acquire(lock_name("a"), {.wait = 1500ms});
    // A machine that stands still for a second ends the lease, and then there is nothing to see.
    EXPECT_FALSE(refused && held->check());
  }
}

TEST_F(clock_steps, back_and_a_restart_empty_together_do_not_repeat_tokens) {
  contest c(founded(s_));
  expect_more(c);
  s_.kill();
  wall_.step(-1h);
  s_.start(server::data::wipe);
  expect_more(c);
  expect_clean_end(c);
}

}  // namespace
}  // namespace holdfast::redis_engine_tests
