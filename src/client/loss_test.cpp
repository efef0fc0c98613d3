#include <holdfast/session.hpp>

#include "client/engines_fixture.hpp"
#include "client/outcome_fixture.hpp"
#include "client/session_core.hpp"
#include "core/rounds_fixture.hpp"

#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using client::testing::code;
using client::testing::eventually;
using client::testing::wrapped_engine;

struct recorder : observer {
  void on(const event::granted&) noexcept override { note("granted"); }
  void on(const event::waiting& e) noexcept override { note("waiting " + std::to_string(e.ahead)); }
  void on(const event::released&) noexcept override { note("released"); }
  void on(const event::lost& e) noexcept override { note(std::string("lost ") + name_of(e.cause)); }
  void on(const event::session_changed& e) noexcept override { note(name_of(e.state)); }
  void on(const event::beat& e) noexcept override { note(e.acknowledged ? "beat" : "no beat"); }
  void on(const event::took_over&) noexcept override { note("took over"); }
  void note(std::string what) {
    const std::lock_guard hold(mutex);
    seen.push_back(std::move(what));
  }
  std::size_t count(const std::string& what) {
    const std::lock_guard hold(mutex);
    return static_cast<std::size_t>(std::count(seen.begin(), seen.end(), what));
  }
  std::size_t size() {
    const std::lock_guard hold(mutex);
    return seen.size();
  }
  std::mutex mutex;
  std::vector<std::string> seen;
};

class loss : public ::testing::Test {
 protected:
  loss() {
    static std::atomic<int> n{};
    name_ = "loss_test_" + std::to_string(++n);
    auto opened = client::testing::memory(name_);
    engine_ = std::make_shared<wrapped_engine>(opened.engine);
    opened.engine = engine_;
    opened.url += "-wrapped";
    store_ = client::store_core::on(opened, 30s, 1h);
  }
  ~loss() override { let_go(); }

  session open_session(duration ttl, std::shared_ptr<observer> watcher = {}) {
    auto core = client::session_core::open(store_, {.ttl = ttl, .observer = std::move(watcher)});
    if (!core) ADD_FAILURE() << core.error().message();
    return client::session_core::make_session(*core);
  }
  void hang_beats() {
    engine_->before_beat = [until = released_] { until->wait(); };
  }
  void let_go() {
    if (!released_->try_wait()) released_->count_down();
  }

  std::string name_;
  std::shared_ptr<std::latch> released_ = std::make_shared<std::latch>(1);
  std::shared_ptr<wrapped_engine> engine_;
  std::shared_ptr<client::store_core> store_;
};

TEST_F(loss, a_beat_that_hangs_does_not_delay_the_signal) {
  hang_beats();
  const auto began = clock::now();
  auto s = open_session(2s);
  auto held = s.acquire(lock_name("x"));
  ASSERT_TRUE(held);
  std::atomic<std::int64_t> reported{};
  held->on_lost([&](const error& e) {
    EXPECT_EQ(e.code(), errc::lost);
    reported = (clock::now() - began).count();
  });
  EXPECT_TRUE(eventually([&] { return reported != 0; })) << "the signal waits for the beat";
  EXPECT_TRUE(held->lost().stop_requested());
  EXPECT_GE(duration{reported}, 1900ms);
  EXPECT_EQ(code(held->check()), errc::lost);
  EXPECT_TRUE(eventually([&] { return s.status().state == session_state::expired; }));
  let_go();
}

TEST_F(loss, an_engine_forgets_what_is_denied_and_keeps_what_is_closed_by_itself) {
  auto denied = open_session(2s);
  auto closed = open_session(2s);
  EXPECT_TRUE(closed.close());
  EXPECT_EQ(engine_->forgotten, 0);
  core::deny_request r;
  r.id = denied.id();
  engine_->deny(r, [](const core::deny_reply&) {});
  EXPECT_TRUE(eventually([&] { return engine_->forgotten == 1; }));
  EXPECT_EQ(denied.status().state, session_state::denied);
}

TEST_F(loss, is_told_behind_the_grant) {
  struct slow : observer {
    void on(const event::granted&) noexcept override {
      hears.count_down();
      std::this_thread::sleep_for(200ms);
      heard = true;
    }
    void on(const event::lost&) noexcept override { too_early = !heard; }
    std::latch hears{1};
    std::atomic<bool> heard{}, too_early{};
  };
  const auto watcher = std::make_shared<slow>();
  auto s = open_session(30s, watcher);
  const std::jthread closer([&] {
    watcher->hears.wait();
    EXPECT_TRUE(s.close());
  });
  const auto held = s.acquire(lock_name("x"));
  EXPECT_TRUE(watcher->heard);
  EXPECT_FALSE(watcher->too_early);
}

TEST_F(loss, a_lock_that_was_lost_never_comes_back_and_the_session_neither) {
  engine_->drop_beats = true;
  auto s = open_session(1500ms);
  auto held = s.acquire(lock_name("x"));
  ASSERT_TRUE(held);
  ASSERT_TRUE(eventually([&] { return !held->check(); }));
  engine_->drop_beats = false;
  std::this_thread::sleep_for(1s);  // Time for more than one beat.
  EXPECT_EQ(code(held->check()), errc::lost);
  EXPECT_EQ(code(s.acquire(lock_name("y"))), errc::lost);
  EXPECT_EQ(code(std::move(*held).release()), errc::lost);
  auto b = open_session(30s);
  EXPECT_TRUE(b.acquire(lock_name("x"), {.wait = 30s}))
      << "an expired session leaves its locks free";
}

TEST_F(loss, the_observer_hears_of_danger_and_of_the_end) {
  const auto watcher = std::make_shared<recorder>();
  engine_->drop_beats = true;
  auto s = open_session(3s, watcher);
  auto held = s.acquire(lock_name("x"));
  ASSERT_TRUE(held);
  EXPECT_TRUE(eventually([&] { return watcher->count("expired") == 1; }));
  EXPECT_EQ(watcher->count("granted"), 1U);
  EXPECT_EQ(watcher->count("endangered"), 1U);
  EXPECT_EQ(watcher->count("lost expired"), 1U);
  EXPECT_GE(watcher->count("no beat"), 1U);
  EXPECT_TRUE(s.lost().stop_requested());
}

TEST_F(loss, a_session_that_is_closed_behind_its_end_was_lost) {
  engine_->drop_beats = true;
  for (int round = 0; round < 5; ++round) {
    const auto watcher = std::make_shared<recorder>();
    auto s = open_session(800ms, watcher);
    // A name of its own: the record of the round before may still be on its way out.
    auto held = s.acquire(lock_name("x" + std::to_string(round)));
    ASSERT_TRUE(held) << held.error().message();
    // The first to find out, ahead of the library's threads, as after the process was stopped.
    while (held->check()) {
    }
    EXPECT_EQ(code(std::move(*held).release()), errc::lost);
    EXPECT_TRUE(s.close());
    EXPECT_EQ(watcher->count("expired"), 1U);
    EXPECT_EQ(watcher->count("closed"), 0U);
  }
}

TEST_F(loss, that_a_release_finds_is_told_while_the_lock_can_be_asked) {
  engine_->drop_beats = true;
  auto first = open_session(800ms);
  auto second = open_session(1s);
  auto busy = first.acquire(lock_name("x"));
  auto held = second.acquire(lock_name("y"));
  ASSERT_TRUE(busy && held);
  // The thread that tells losses is kept by the other one.
  const auto tells = std::make_shared<std::latch>(1);
  const auto over = std::make_shared<std::latch>(1);
  busy->on_lost([=](const error&) {
    tells->count_down();
    over->wait();
  });
  std::string reported;
  held->on_lost([&](const error&) { reported = held->name().str(); });
  tells->wait();
  while (held->check()) {
  }
  EXPECT_EQ(code(std::move(*held).release()), errc::lost);
  EXPECT_EQ(reported, "y");
  over->count_down();
}

TEST_F(loss, no_event_comes_after_close_has_returned) {
  const auto watcher = std::make_shared<recorder>();
  auto s = open_session(1500ms, watcher);
  auto held = s.acquire(lock_name("x"));
  ASSERT_TRUE(held);
  EXPECT_TRUE(eventually([&] { return watcher->count("beat") > 0; }));
  EXPECT_TRUE(s.close());
  const auto then = watcher->size();
  EXPECT_EQ(watcher->count("lost closed"), 1U);
  EXPECT_EQ(watcher->count("closed"), 1U);
  std::this_thread::sleep_for(1s);  // Time for more than one beat.
  EXPECT_EQ(watcher->size(), then);
}

TEST_F(loss, a_callback_may_call_back_into_its_session) {
  struct closer : observer {
    void on(const event::session_changed& e) noexcept override {
      if (e.state == session_state::endangered && of) closed = of.load()->close().has_value();
    }
    std::atomic<session*> of{};
    std::atomic<bool> closed{};
  };
  const auto watcher = std::make_shared<closer>();
  engine_->drop_beats = true;
  auto s = open_session(3s, watcher);
  watcher->of = &s;
  EXPECT_TRUE(eventually([&] { return watcher->closed.load(); }));
  EXPECT_EQ(s.status().state, session_state::closed);
}

TEST_F(loss, on_lost_runs_at_once_for_a_lock_that_is_lost_and_never_for_a_released_one) {
  auto s = open_session(30s);
  auto first = s.acquire(lock_name("a"));
  auto second = s.acquire(lock_name("b"));
  ASSERT_TRUE(first && second);
  int reported = 0;
  first->on_lost([&](const error&) { reported += 100; });
  EXPECT_TRUE(std::move(*first).release());
  EXPECT_TRUE(s.close());
  second->on_lost([&](const error&) { ++reported; });
  EXPECT_EQ(reported, 1);
}

TEST_F(loss, is_not_told_to_a_lock_that_another_one_has_destroyed_or_released_when_told) {
  for (const bool releases : {false, true}) {
    const auto watcher = std::make_shared<recorder>();
    auto s = open_session(30s, watcher);
    std::array<std::optional<lock>, 2> locks;
    locks[0].emplace(s.acquire(lock_name("a")).value());
    locks[1].emplace(s.acquire(lock_name("b")).value());
    std::array<std::atomic<bool>, 2> gone{};
    std::atomic<bool> begun{};
    std::atomic<int> late{};
    for (std::size_t mine = 0; mine < 2; ++mine) {
      locks[mine]->on_lost([&, mine](const error&) {
        if (gone[mine]) ++late;
        if (begun.exchange(true)) return;
        auto& other = locks[1 - mine];
        if (releases) {
          EXPECT_EQ(code(std::move(*other).release()), errc::lost);
        }
        other.reset();
        gone[1 - mine] = true;
      });
    }
    EXPECT_TRUE(s.close());
    EXPECT_TRUE(gone[0] || gone[1]);
    EXPECT_EQ(late, 0) << "releases: " << releases;
    EXPECT_EQ(watcher->count("lost closed"), 2U) << "the session's record is complete";
  }
}

TEST_F(loss, is_not_told_to_a_lock_that_was_destroyed_or_released_when_its_stop_was_requested) {
  for (const bool releases : {false, true}) {
    auto s = open_session(30s);
    std::optional<lock> held(s.acquire(lock_name("a")).value());
    std::atomic<bool> gone{};
    std::atomic<bool> late{};
    held->on_lost([&](const error&) { late = gone.load(); });
    const std::stop_callback ends(held->lost(), [&] {
      if (releases) {
        EXPECT_EQ(code(std::move(*held).release()), errc::lost);
      }
      held.reset();
      gone = true;
    });
    EXPECT_TRUE(s.close());
    EXPECT_TRUE(gone);
    EXPECT_FALSE(late) << "releases: " << releases;
  }
}

TEST_F(loss, is_not_told_to_a_function_that_was_removed_when_the_stop_was_requested) {
  auto s = open_session(30s);
  auto held = s.acquire(lock_name("a"));
  ASSERT_TRUE(held);
  std::atomic<int> old{};
  held->on_lost([&](const error&) { ++old; });
  const std::stop_callback removes(held->lost(), [&] { held->on_lost({}); });
  EXPECT_TRUE(s.close());
  EXPECT_EQ(old, 0);
}

TEST_F(loss, is_told_only_to_the_function_that_came_when_the_stop_was_requested) {
  auto s = open_session(30s);
  auto held = s.acquire(lock_name("a"));
  ASSERT_TRUE(held);
  std::atomic<int> old{}, now{};
  held->on_lost([&](const error&) { ++old; });
  const std::stop_callback replaces(held->lost(),
                                    [&] { held->on_lost([&](const error&) { ++now; }); });
  EXPECT_TRUE(s.close());
  EXPECT_EQ(old, 0);
  EXPECT_EQ(now, 1);
}

TEST_F(loss, of_a_session_ends_an_acquire_that_had_just_found_it_alive) {
  auto other = open_session(30s);
  const auto held = other.acquire(lock_name("x"));
  auto core = client::session_core::open(store_, {.ttl = 30s});
  ASSERT_TRUE(held && core);
  auto s = client::session_core::make_session(*core);
  // What the session's end does, and the acquire did not see yet.
  (*core)->locks().stop();
  EXPECT_EQ(code(s.acquire(lock_name("x"), {.wait = 20s})), errc::lost);
  EXPECT_TRUE((*core)->locks().empty());
}

TEST_F(loss, of_a_session_that_several_close_at_once_is_told_to_the_observer) {
  constexpr int closers = 4;
  for (int round = 0; round < core::shortened(1'000); ++round) {
    const auto watcher = std::make_shared<recorder>();
    auto s = open_session(30s, watcher);
    const auto held = s.acquire(lock_name("x" + std::to_string(round)));
    ASSERT_TRUE(held);
    std::latch ready(closers);
    std::vector<std::jthread> threads;
    for (int n = 0; n < closers; ++n) {
      threads.emplace_back([&] {
        ready.arrive_and_wait();
        EXPECT_TRUE(s.close());
      });
    }
    threads.clear();
    ASSERT_EQ(watcher->count("lost closed"), 1U) << round;
    ASSERT_EQ(watcher->count("closed"), 1U) << round;
  }
}

TEST_F(loss, an_enqueue_of_unknown_outcome_leaves_nothing_behind) {
  auto s = open_session(30s);
  engine_->lose_enqueues = true;
  const auto got = s.acquire(lock_name("x"));
  EXPECT_FALSE(got);
  auto b = open_session(30s);
  EXPECT_TRUE(b.acquire(lock_name("x")));
  EXPECT_TRUE(s.acquire(lock_name("y"))) << "the session goes on with the moved gate";
}

TEST_F(loss, a_wait_whose_time_is_up_does_not_wait_for_its_leave) {
  auto s = open_session(30s);
  engine_->lose_enqueues = true;
  engine_->fail_leaves = 1'000'000;
  EXPECT_EQ(code(s.acquire(lock_name("x"), {.wait = duration{1}})), errc::outcome_unknown);
  EXPECT_GE(engine_->fail_leaves, 1'000'000 - 2) << "it is left behind the wait";
  EXPECT_EQ(code(s.acquire(lock_name("x"), {.wait = 1ms})), errc::busy) << "until it is left";
  engine_->fail_leaves = 0;
  auto b = open_session(30s);
  EXPECT_TRUE(b.acquire(lock_name("x"), {.wait = 30s}));
  EXPECT_TRUE(eventually([&] { return s.try_acquire(lock_name("x")).has_value(); }));
}

TEST_F(loss, a_wait_that_ends_with_an_unanswered_read_is_left_at_once) {
  auto a = open_session(30s);
  auto b = open_session(30s);
  auto held = a.acquire(lock_name("x"));
  ASSERT_TRUE(held);
  std::stop_source stop;
  engine_->before_failed_confirm = [&] { stop.request_stop(); };
  std::atomic<errc> reported{};
  b.acquire(lock_name("x"), {.wait = 1h, .stop = stop.get_token()},
            [&](const result<lock>& l) { reported = code(l); });
  EXPECT_TRUE(std::move(*held).release());
  EXPECT_TRUE(eventually([&] { return reported.load() == errc::cancelled; }));
  EXPECT_TRUE(b.try_acquire(lock_name("x"))) << "it was told that x is not let go yet";
}

TEST_F(loss, a_wait_that_is_cancelled_asks_only_once_to_leave) {
  auto a = open_session(30s);
  auto b = open_session(30s);
  auto held = a.acquire(lock_name("x"));
  ASSERT_TRUE(held);
  engine_->fail_leaves = 1'000'000;
  std::stop_source stop;
  std::atomic<errc> reported{};
  std::atomic<int> tried{};
  b.acquire(lock_name("x"), {.wait = 1h, .stop = stop.get_token()}, [&](const result<lock>& l) {
    tried = 1'000'000 - engine_->fail_leaves;
    reported = code(l);
  });
  stop.request_stop();
  EXPECT_TRUE(eventually([&] { return reported.load() == errc::cancelled; }));
  EXPECT_LE(tried, 2);
  engine_->fail_leaves = 0;
  EXPECT_TRUE(std::move(*held).release());
  EXPECT_TRUE(eventually([&] { return b.try_acquire(lock_name("x")).has_value(); }));
}

TEST_F(loss, is_told_while_the_store_hangs_in_the_leave_of_a_wait_that_another_one_has_ended) {
  std::latch goes_on(1);
  std::atomic<bool> leaves{};
  std::atomic<errc> ended{};
  std::atomic<bool> reported{};
  engine_->before_leave = [&] {
    leaves = true;
    goes_on.wait();
  };
  auto holder = open_session(30s);
  auto waiter = open_session(30s);
  auto first = open_session(30s);
  auto second = open_session(30s);
  auto held = holder.acquire(lock_name("x"));
  auto a = first.acquire(lock_name("a"));
  auto b = second.acquire(lock_name("b"));
  ASSERT_TRUE(held && a && b);
  b->on_lost([&](const error&) { reported = true; });
  waiter.acquire(lock_name("x"), {.wait = forever, .stop = a->lost()},
                 [&](const result<lock>& l) { ended = code(l); });
  EXPECT_TRUE(first.close());
  EXPECT_TRUE(eventually([&] { return leaves.load(); }));
  EXPECT_TRUE(second.close());
  EXPECT_TRUE(reported) << "close() waits for that, two seconds at most";
  EXPECT_NE(ended.load(), errc::cancelled);
  goes_on.count_down();
  EXPECT_TRUE(eventually([&] { return ended.load() == errc::cancelled; }));
}

TEST_F(loss, a_release_that_is_not_answered_is_tried_again) {
  auto s = open_session(30s);
  auto held = s.acquire(lock_name("x"));
  ASSERT_TRUE(held);
  engine_->fail_leaves = 1'000'000;
  EXPECT_EQ(code(std::move(*held).release()), errc::unavailable);
  const auto again = s.acquire(lock_name("x"));
  EXPECT_EQ(code(again), errc::busy) << "its own old entry is still there";
  EXPECT_NE(again.error().message().find("has not confirmed"), std::string::npos)
      << again.error().message();
  engine_->fail_leaves = 0;
  auto b = open_session(30s);
  EXPECT_TRUE(b.acquire(lock_name("x"), {.wait = 30s}));
  EXPECT_TRUE(eventually([&] { return s.try_acquire(lock_name("x")).has_value(); }));
}

TEST_F(loss, a_hundred_thousand_locks_are_told_promptly) {
  constexpr int locks = core::shortened(100'000);
  auto s = open_session(30s);
  std::vector<lock> held;
  held.reserve(locks);
  for (int i = 0; i < locks; ++i) {
    auto got = s.acquire(lock_name("n" + std::to_string(i)));
    ASSERT_TRUE(got);
    held.push_back(std::move(*got));
  }
  // On a machine that is too busy close() does not wait for all of them.
  const auto reported = std::make_shared<std::atomic<int>>();
  for (auto& l : held) l.on_lost([reported](const error&) { ++*reported; });
  const auto began = clock::now();
  EXPECT_TRUE(s.close());
  EXPECT_EQ(*reported, locks);
  EXPECT_LT(clock::now() - began, 15s);
  EXPECT_EQ(code(held.back().check()), errc::lost);
}

TEST_F(loss, of_a_session_is_not_told_to_a_wait_that_has_ended_and_could_not_be_left) {
  const auto watcher = std::make_shared<recorder>();
  auto a = open_session(1h);
  auto b = open_session(3s, watcher);
  auto held = a.acquire(lock_name("x"));
  ASSERT_TRUE(held);
  engine_->fail_leaves = 1'000'000;
  EXPECT_EQ(code(b.acquire(lock_name("x"), {.wait = 10ms})), errc::timed_out);
  engine_->drop_beats = true;
  EXPECT_TRUE(eventually([&] { return watcher->count("expired") == 1; }));
  engine_->fail_leaves = 0;
}

}  // namespace
}  // namespace holdfast
