// Locks that have a lease of their own, and that may be lost alone.
#include "client/leased_engine_fixture.hpp"
#include "core/rounds_fixture.hpp"

#include <future>
#include <latch>
#include <regex>
#include <string>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using client::testing::code;
using client::testing::eventually;
using client::testing::listener;
using client::testing::says;

struct own_lease : client::testing::leased_store {};

TEST_F(own_lease, decides_what_check_and_remaining_say) {
  auto s = open_session();
  auto held = must_acquire(s, "x");
  EXPECT_EQ(held.token(), token{});
  EXPECT_LE(held.remaining(), 20s);
  EXPECT_GT(held.remaining(), 10s);
  EXPECT_TRUE(held.check(10s));
  const auto too_long = held.check(25s);
  ASSERT_EQ(code(too_long), errc::expiring) << "the session's lease would last for it";
  EXPECT_TRUE(std::regex_search(too_long.error().message(),
                                std::regex("only 1[0-9]s of the lease of x is left, 25s")))
      << too_long.error().message();
  EXPECT_TRUE(held.check()) << "it is held on";
  EXPECT_TRUE(engine_->newest().own->extend(clock::now() + 28s, clock::now()));
  EXPECT_TRUE(held.check(25s));
  EXPECT_GT(held.remaining(), 25s);
}

TEST_F(own_lease, that_passes_is_told_with_what_keeps_the_store_from_extending_it) {
  engine_->has_trouble = "n1:7001: the certificate has expired";
  const auto watcher = std::make_shared<listener>();
  auto s = open_session(watcher);
  engine_->own_ttl = 1s;
  auto held = must_acquire(s, "x");
  std::promise<std::string> reported;
  held.on_lost([&](const error& e) { reported.set_value(e.message()); });
  const auto text = reported.get_future().get();
  EXPECT_TRUE(says(text, "not extended in time")) << text;
  EXPECT_TRUE(says(text, "n1:7001: the certificate has expired")) << text;
  EXPECT_TRUE(eventually([&] { return watcher->lost == 1; }));
  EXPECT_TRUE(says(watcher->last_reason(), "the certificate has expired"));
}

TEST_F(own_lease, that_passes_is_told_with_what_the_last_heartbeat_failed_with) {
  engine_->beats_fail_with = "too few nodes answer";
  engine_->drop_beats = true;
  auto s = open_session({}, 6s);
  engine_->own_ttl = 3s;
  auto found = must_acquire(s, "y");  // First: it has passed when the other one has.
  auto heard = must_acquire(s, "x");
  std::promise<std::string> reported;
  heard.on_lost([&](const error& e) { reported.set_value(e.message()); });
  const auto text = reported.get_future().get();
  EXPECT_TRUE(says(text, "not extended in time; too few nodes answer")) << text;
  // Nobody watched this one: the release finds out.
  const auto released = std::move(found).release();
  ASSERT_EQ(code(released), errc::lost);
  EXPECT_TRUE(says(released.error().message(), "too few nodes answer"));
}

TEST_F(own_lease, that_passes_while_a_callback_keeps_the_library_s_thread_is_told_so) {
  struct slow final : observer {
    void on(const event::beat&) noexcept override { over.wait(); }  // What none must do.
    std::promise<void> enough;
    std::shared_future<void> over{enough.get_future()};
  };
  const auto watcher = std::make_shared<slow>();
  auto s = open_session(watcher, 1s);
  engine_->own_ttl = 1100ms;
  auto held = must_acquire(s, "x");
  std::promise<std::string> reported;
  held.on_lost([&](const error& e) { reported.set_value(e.message()); });
  const auto text = reported.get_future().get();
  EXPECT_TRUE(says(text, "late to act")) << text;
  EXPECT_TRUE(says(text, "a callback or a local store kept its thread")) << text;
  const auto lost = held.check();
  EXPECT_TRUE(says(lost.error().message(), "late to act")) << lost.error().message();
  watcher->enough.set_value();
}

TEST_F(own_lease, does_not_promise_more_than_the_session_has_left) {
  engine_->own_ttl = 1h;
  auto s = open_session();
  auto held = must_acquire(s, "x");
  EXPECT_LE(held.remaining(), 30s);
  EXPECT_EQ(code(held.check(10min)), errc::expiring) << "more than remaining() says";
  EXPECT_TRUE(held.check());
}

TEST_F(own_lease, that_passes_takes_its_lock_and_leaves_the_session) {
  const auto watcher = std::make_shared<listener>();
  auto s = open_session(watcher);
  auto other = must_acquire(s, "other");
  engine_->own_ttl = 1s;
  const auto began = clock::now();
  auto held = must_acquire(s, "x");
  std::atomic<int> reported{};
  held.on_lost([&](const error& e) {
    EXPECT_EQ(e.code(), errc::lost);
    ++reported;
  });
  const auto token = held.lost();
  EXPECT_TRUE(eventually([&] { return watcher->lost == 1; }));
  EXPECT_LT(clock::now() - began, 20s);
  EXPECT_EQ(reported, 1);
  EXPECT_TRUE(token.stop_requested());
  EXPECT_EQ(watcher->cause, loss_cause::expired);
  EXPECT_FALSE(watcher->last_reason().empty());
  EXPECT_EQ(code(held.check()), errc::lost);
  EXPECT_EQ(held.remaining(), duration::zero());
  EXPECT_EQ(s.status().state, session_state::attached);
  EXPECT_TRUE(other.check());
  EXPECT_FALSE(s.lost().stop_requested());
  engine_->own_ttl = 20s;
  EXPECT_TRUE(s.acquire(lock_name("y")));
}

TEST_F(own_lease, that_passes_is_told_to_an_observer_even_if_nobody_asks_the_lock) {
  const auto watcher = std::make_shared<listener>();
  engine_->own_ttl = 1s;
  auto s = open_session(watcher);
  auto held = must_acquire(s, "x");
  EXPECT_TRUE(eventually([&] { return watcher->lost == 1; }));
}

TEST_F(own_lease, that_was_lost_frees_its_name_by_a_release_that_says_lost_and_leaves) {
  auto s = open_session();
  auto held = must_acquire(s, "x");
  engine_->newest().lose(core::status::gone, "2 of 5 nodes have it");
  EXPECT_EQ(code(s.try_acquire(lock_name("x"))), errc::busy) << "until it is released";
  const auto released = std::move(held).release();
  EXPECT_EQ(code(released), errc::lost);
  EXPECT_EQ(engine_->leaves, 1);
  EXPECT_TRUE(must_acquire(s, "x").check());
  auto b = open_session();
  EXPECT_TRUE(b.try_acquire(lock_name("x"))) << "nothing is left behind";
}

TEST_F(own_lease, that_was_lost_is_left_by_the_destructor_which_tells_nobody) {
  engine_->own_ttl = 1s;
  auto s = open_session();
  {
    auto held = must_acquire(s, "x");
    ASSERT_TRUE(eventually([&] { return engine_->newest().own->remaining(clock::now()) == 0ms; }));
    // Dropped by this thread in the same moment: whether it was reported before is open.
  }
  EXPECT_EQ(engine_->leaves, 1);
  EXPECT_EQ(engine_->leaves_of_live, 0);
  engine_->own_ttl = 20s;
  EXPECT_TRUE(must_acquire(s, "x").check());
}

TEST_F(own_lease, that_was_lost_is_not_told_to_an_observer_as_released_too) {
  const auto watcher = std::make_shared<listener>();
  auto s = open_session(watcher);
  for (const bool waits : {true, false}) {
    auto held = must_acquire(s, "x");
    const int lost = watcher->lost;
    engine_->newest().lose(core::status::gone, "2 of 5 nodes have it");
    ASSERT_TRUE(eventually([&] { return watcher->lost > lost; }));
    const int leaves = engine_->leaves;
    if (waits) {
      EXPECT_EQ(code(std::move(held).release()), errc::lost);
    } else {
      std::move(held).release([](const result<void>& r) { EXPECT_EQ(code(r), errc::lost); });
    }
    EXPECT_EQ(engine_->leaves, leaves + 1);
    EXPECT_EQ(watcher->released, 0);
  }
  auto held = must_acquire(s, "x");
  std::move(held).release([](const result<void>& r) { EXPECT_TRUE(r); });
  EXPECT_EQ(watcher->released, 1);
}

TEST_F(own_lease, that_lapsed_unheard_is_not_told_after_the_destructor) {
  engine_->own_ttl = 1h;
  auto s = open_session();
  std::atomic<int> reported{};
  {
    auto held = must_acquire(s, "x");
    held.on_lost([&](const error&) { ++reported; });
    // The alarm does not hear of it, and looks in an hour.
    engine_->newest().own->lose();
  }
  EXPECT_TRUE(s.close());
  EXPECT_EQ(reported, 0);
}

TEST_F(own_lease, that_the_engine_loses_is_told_with_the_engines_reason) {
  const auto watcher = std::make_shared<listener>();
  auto s = open_session(watcher);
  auto held = must_acquire(s, "x");
  std::atomic<bool> heard{};
  std::string message;
  held.on_lost([&](const error& e) {
    EXPECT_EQ(e.code(), errc::denied);
    message = e.message();
    heard = true;
  });
  engine_->newest().lose(core::status::denied, "an operator (ann) denied it");
  EXPECT_EQ(code(held.check()), errc::lost);
  ASSERT_TRUE(eventually([&] { return heard.load(); }));
  EXPECT_NE(message.find("ann"), std::string::npos) << message;
  EXPECT_TRUE(held.lost().stop_requested());
  EXPECT_TRUE(eventually([&] { return watcher->lost == 1; }));
  EXPECT_EQ(watcher->cause, loss_cause::denied);
  EXPECT_EQ(watcher->last_reason(), "an operator (ann) denied it");
  EXPECT_NE(held.check().error().message().find("ann"), std::string::npos);
  held.on_lost([&](const error& e) { EXPECT_EQ(e.code(), errc::denied); });
  EXPECT_EQ(s.status().state, session_state::attached);
}

TEST_F(own_lease, that_the_engine_lost_says_so_to_a_lock_that_asks_afterwards) {
  auto s = open_session();
  auto held = must_acquire(s, "x");
  engine_->newest().lose(core::status::gone, "2 of 5 nodes have it");
  const auto token = held.lost();
  EXPECT_TRUE(eventually([&] { return token.stop_requested(); }));
}

TEST_F(own_lease, of_a_lock_that_is_over_may_be_reported_lost_without_effect) {
  auto s = open_session();
  auto held = must_acquire(s, "x");
  std::atomic<int> reported{};
  held.on_lost([&](const error&) { ++reported; });
  const auto old = engine_->newest();
  EXPECT_TRUE(std::move(held).release());
  EXPECT_EQ(engine_->leaves_of_live, 0) << "no check may say ok once the leave is sent";
  auto again = must_acquire(s, "x");
  old.lose(core::status::gone, "late");
  EXPECT_TRUE(s.close());
  EXPECT_EQ(reported, 0);
}

TEST_F(own_lease, that_passes_after_the_release_is_no_loss) {
  auto s = open_session();
  engine_->own_ttl = 1s;
  auto held = must_acquire(s, "x");
  held.on_lost([](const error&) { ADD_FAILURE() << "it was released"; });
  const auto passes = clock::now() + 1s;
  ASSERT_TRUE(std::move(held).release());
  ASSERT_TRUE(eventually([&] { return clock::now() > passes; }));
  io::alarm::of_process().value()->run([] {}, 1min);
  EXPECT_EQ(held.check().error().message(), "the lock x was released");
}

TEST_F(own_lease, of_an_earlier_attempt_says_nothing_about_a_later_one) {
  engine_->late_grants = 1;
  auto s = open_session();
  auto got = s.acquire(lock_name("x"), {.wait = 30s});
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(engine_->leaves, 1) << "the late grant was given back";
  std::atomic<int> reported{};
  got->on_lost([&](const error&) { ++reported; });
  engine_->first->lost(core::reply{core::status::gone, "late"});
  io::alarm::of_process().value()->run([] {}, 1min);
  EXPECT_EQ(reported, 0);
  EXPECT_TRUE(got->check());
}

TEST_F(own_lease, that_has_passed_at_the_grant_of_a_try_holds_nothing) {
  engine_->late_grants = 1;
  auto s = open_session();
  EXPECT_EQ(code(s.try_acquire(lock_name("x"))), errc::unavailable);
  EXPECT_EQ(engine_->leaves, 1);
  EXPECT_TRUE(s.try_acquire(lock_name("x")));
}

TEST_F(own_lease, that_passes_while_others_are_waited_for_is_not_all_of_them) {
  const auto watcher = std::make_shared<listener>();
  auto s = open_session(watcher);
  auto b = open_session();
  auto in_the_way = must_acquire(b, "z");
  std::jthread later([&] {
    EXPECT_TRUE(eventually([&] { return watcher->waiting == 1; }));
    engine_->newest().lose(core::status::gone, "2 of 5 nodes have it");
    EXPECT_TRUE(std::move(in_the_way).release());
  });
  const auto all = s.acquire_all({lock_name("z"), lock_name("a")}, {.wait = 60s});
  ASSERT_EQ(code(all), errc::lost);
  // The reason may not be known yet.
  EXPECT_TRUE(says(all.error().message(), "the lock a is lost")) << all.error().message();
  later.join();
  EXPECT_TRUE(b.try_acquire(lock_name("z"))) << "it was not given back";
  EXPECT_TRUE(b.try_acquire(lock_name("a")));
}

TEST_F(own_lease, that_is_shortened_is_told_at_the_earlier_deadline) {
  auto s = open_session();
  auto held = must_acquire(s, "x");
  const auto token = held.lost();
  const auto until = clock::now() + 60ms;
  engine_->newest().shorten(until);
  EXPECT_TRUE(eventually([&] { return token.stop_requested(); }));
  EXPECT_GE(clock::now(), until);
}

TEST_F(own_lease, that_is_extended_while_the_alarm_tells_another_loss_is_held_on) {
  for (const bool shortened_again : {false, true}) {
    auto s = open_session();
    auto x = must_acquire(s, "x");
    const auto x_own = engine_->newest();
    auto y = must_acquire(s, "y");
    const auto y_own = engine_->newest();
    auto z = must_acquire(s, "z");
    const auto z_own = engine_->newest();
    const auto until = clock::now();
    std::atomic<bool> x_told{}, y_told{}, z_told{};
    x.on_lost([&](const error&) {
      // An answer that the loop has read in time, and carries out only now.
      EXPECT_TRUE(y_own.own->extend(until + 20s, until - 1ns));
      x_told = true;
    });
    y.on_lost([&](const error&) { y_told = true; });
    z.on_lost([&](const error&) {
      EXPECT_TRUE(x_told) << "they are told in the order in which they are watched";
      EXPECT_FALSE(y_told);
      EXPECT_TRUE(y.check());
      if (shortened_again) y_own.shorten(until);
      z_told = true;
    });
    // The alarm hears of all three before it looks at one, and finds them due together.
    const auto alarm = io::alarm::of_process().value();
    std::latch begun(1), all(1);
    ASSERT_TRUE(alarm->post([&] {
      begun.count_down();
      all.wait();
    }));
    begun.wait();
    for (const auto& one : {x_own, y_own, z_own}) one.shorten(until);
    all.count_down();
    ASSERT_TRUE(eventually([&] { return z_told.load(); }));
    if (!shortened_again) {
      alarm->run([] {}, 1min);
      EXPECT_FALSE(y_told);
      EXPECT_TRUE(y.check());
      y_own.shorten(clock::now());
    }
    EXPECT_TRUE(eventually([&] { return y_told.load(); })) << "nobody watches it any more";
    EXPECT_EQ(code(y.check()), errc::lost);
  }
}

TEST_F(own_lease, that_a_check_finds_passed_before_the_alarm_does_is_told) {
  auto s = open_session();
  auto held = must_acquire(s, "x");
  std::atomic<bool> reported{};
  held.on_lost([&](const error&) { reported = true; });
  const auto alarm = io::alarm::of_process().value();
  std::latch checked(1);
  ASSERT_TRUE(alarm->post([&] { checked.wait(); }));
  engine_->newest().shorten(clock::now());
  EXPECT_EQ(code(held.check()), errc::lost);
  checked.count_down();
  EXPECT_TRUE(eventually([&] { return reported.load(); }));
}

TEST_F(own_lease, ends_with_a_denied_session_although_the_alarm_is_kept) {
  auto s = open_session({}, 2s);
  auto held = must_acquire(s, "x");
  auto second = must_acquire(s, "y");
  std::atomic<bool> called{}, ended{}, returned{};
  held.on_lost([&](const error&) {
    called = true;
    EXPECT_TRUE(eventually([&] { return ended.load(); }, 20s));
    returned = true;
  });
  engine_->all().front().lose(core::status::gone, "gone");
  ASSERT_TRUE(eventually([&] { return called.load(); }));
  engine_->deny({s.id(), "ann", "why not"}, [](const core::deny_reply&) {});
  EXPECT_TRUE(eventually([&] { return !second.check(); }, 20s));
  EXPECT_EQ(engine_->live_at_close, 0);
  ended = true;
  EXPECT_TRUE(eventually([&] { return returned.load(); }));
}

TEST_F(own_lease, ends_with_its_session_before_the_record_goes) {
  auto s = open_session();
  auto held = must_acquire(s, "x");
  auto second = must_acquire(s, "y");
  std::atomic<bool> called{}, closed{}, returned{};
  held.on_lost([&](const error&) {
    called = true;
    // What a callback must not do: it keeps the alarm's thread.
    EXPECT_TRUE(eventually([&] { return closed.load(); }, 20s));
    returned = true;
  });
  engine_->all().front().lose(core::status::gone, "gone");
  ASSERT_TRUE(eventually([&] { return called.load(); }));
  EXPECT_TRUE(s.close());
  EXPECT_EQ(engine_->live_at_close, 0);
  EXPECT_EQ(code(second.check()), errc::lost);
  closed = true;
  EXPECT_TRUE(eventually([&] { return returned.load(); }));
}

TEST_F(own_lease, ends_with_a_session_that_expires) {
  engine_->drop_beats = true;
  auto s = open_session({}, 1500ms);
  auto held = must_acquire(s, "x");
  const auto token = held.lost();
  EXPECT_TRUE(eventually([&] { return token.stop_requested(); }));
  EXPECT_EQ(code(held.check()), errc::lost);
  EXPECT_TRUE(engine_->newest().own->is_lost());
  EXPECT_EQ(engine_->live_at_close, 0);
  const auto before = engine_->leaves.load();
  EXPECT_EQ(code(std::move(held).release()), errc::lost);
  EXPECT_EQ(engine_->leaves, before) << "the session's own end removes everything";
}

TEST_F(own_lease, of_a_lost_lock_is_left_later_when_the_store_does_not_answer) {
  auto s = open_session();
  auto held = must_acquire(s, "x");
  engine_->newest().lose(core::status::gone, "gone");
  engine_->fail_leaves = 1'000'000;
  EXPECT_EQ(code(std::move(held).release()), errc::lost);
  EXPECT_EQ(code(s.try_acquire(lock_name("x"))), errc::busy);
  engine_->fail_leaves = 0;
  auto b = open_session();
  EXPECT_TRUE(b.acquire(lock_name("x"), {.wait = 30s}));
  EXPECT_EQ(engine_->gates_moved, 0) << "its enqueue was answered";
}

TEST_F(own_lease, of_many_locks_is_told_promptly) {
  constexpr int locks = core::shortened(100'000);
  engine_->own_ttl = 10min;
  auto s = open_session();
  std::vector<lock> held;
  held.reserve(locks);
  std::atomic<int> reported{};
  for (int i = 0; i < locks; ++i) {
    held.push_back(must_acquire(s, "n" + std::to_string(i)));
    held.back().on_lost([&](const error&) { ++reported; });
  }
  const auto all = engine_->all();
  const auto until = clock::now() + 100ms;
  for (const auto& one : all) one.shorten(until);
  EXPECT_TRUE(eventually([&] { return reported == locks; }, 30s)) << reported;
  EXPECT_EQ(s.status().state, session_state::attached);
  for (int i = 0; i < locks; i += 997) EXPECT_EQ(code(held[std::size_t(i)].check()), errc::lost);
}

}  // namespace
}  // namespace holdfast
