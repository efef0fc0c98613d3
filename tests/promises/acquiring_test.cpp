#include "tests/promises/store_promises.hpp"

#include <holdfast/mutex.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// Who gets a lock, who does not, and what is left of an acquire that ended without one.

namespace holdfast::promises {
namespace {

using testing::HasSubstr;

TEST_P(store_promises, a_free_lock_is_held_until_its_release) {
  session s = open();
  EXPECT_EQ(s.ttl(), 30s);
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(succeeded(l));
  EXPECT_EQ(l->name(), lock_name("a"));
  EXPECT_TRUE(l->mode().is_exclusive());
  EXPECT_GT(l->token(), token{});
  EXPECT_LE(l->token(), token_max);
  EXPECT_TRUE(succeeded(l->check()));
  EXPECT_TRUE(succeeded(l->check(-1h))) << "it counts as zero";
  EXPECT_EQ(code(l->check(1h)), errc::expiring);
  EXPECT_GT(l->remaining(), 0s);
  EXPECT_LE(l->remaining(), s.ttl());
  const auto lost = l->lost();
  const token was = l->token();
  std::atomic<bool> told{};
  l->on_lost([&](const error&) { told = true; });
  EXPECT_TRUE(succeeded(std::move(*l).release()));
  EXPECT_EQ(code(l->check()), errc::lost);
  EXPECT_EQ(l->remaining(), 0s);
  EXPECT_EQ(l->name(), lock_name("a"));
  EXPECT_EQ(l->token(), was);
  EXPECT_EQ(code(std::move(*l).release()), errc::lost) << "it is over";
  EXPECT_FALSE(lost.stop_requested()) << "a release is no loss";
  EXPECT_FALSE(told);
  EXPECT_TRUE(succeeded(s.try_acquire(lock_name("a"))));
  expect_free("a");
}

TEST_P(store_promises, a_held_lock_is_busy_and_its_holder_is_told) {
  session holder = open({.program = "nightly", .label = "of Monday"});
  session s = open();
  const lock held = held_by(holder, "a");
  const auto tried = s.try_acquire(lock_name("a"));
  ASSERT_EQ(code(tried), errc::busy);
  EXPECT_THAT(tried.error().message(), HasSubstr("nightly"));
  EXPECT_EQ(code(s.acquire(lock_name("a"))), errc::busy) << "a wait of zero is a try";
  auto asked = begin(s, "a", {});
  ASSERT_TRUE(comes(asked));
  EXPECT_EQ(code(asked.get()), errc::busy);
  EXPECT_TRUE(succeeded(held.check()));
  const auto seen = list();
  ASSERT_NE(seen.find(lock_name("a")), nullptr);
  EXPECT_EQ(seen.find(lock_name("a"))->entries.size(), 1U) << "a try leaves nothing in the queue";
}

TEST_P(store_promises, a_wait_that_is_over_leaves_nothing_behind) {
  session holder = open({.program = "nightly"});
  session s = open();
  lock held = held_by(holder, "a");
  const auto began = clock::now();
  const auto waited = s.acquire(lock_name("a"), {.wait = 100ms});
  const auto took = clock::now() - began;
  ASSERT_EQ(code(waited), errc::timed_out) << waited.error().message();
  EXPECT_THAT(waited.error().message(), HasSubstr("nightly"));
  EXPECT_GE(took, 100ms);
  EXPECT_LT(took, long_enough);
  auto asked = begin(s, "a", {.wait = 1ms});
  ASSERT_TRUE(comes(asked));
  EXPECT_EQ(code(asked.get()), errc::timed_out);
  EXPECT_TRUE(succeeded(held.check()));
  EXPECT_EQ(list().find(lock_name("a"))->entries.size(), 1U);
  EXPECT_TRUE(succeeded(std::move(held).release()));
  EXPECT_TRUE(eventually([&] { return list().locks.empty(); }));
  EXPECT_TRUE(succeeded(holder.try_acquire(lock_name("a"))));
  EXPECT_TRUE(succeeded(s.acquire(lock_name("a"), {.wait = long_enough})));
}

TEST_P(store_promises, a_cancelled_wait_holds_nothing) {
  session holder = open();
  const auto heard = std::make_shared<listener>();
  session s = open({.observer = heard});
  lock held = held_by(holder, "a");
  std::stop_source stop;
  std::optional<errc> said;
  std::thread waits(
      [&] { said = code(s.acquire(lock_name("a"), {.wait = forever, .stop = stop.get_token()})); });
  EXPECT_TRUE(heard->comes_to_hear("waiting a"));
  auto asked = begin(s, "b", {.wait = forever, .stop = stop.get_token()});
  ASSERT_TRUE(comes(asked));
  EXPECT_TRUE(succeeded(asked.get())) << "b is free";
  stop.request_stop();
  waits.join();
  EXPECT_EQ(said, errc::cancelled);
  EXPECT_TRUE(succeeded(held.check()));
  for (const char* name : {"a", "c"}) {
    auto late = begin(s, name, {.wait = forever, .stop = stop.get_token()});
    ASSERT_TRUE(comes(late));
    EXPECT_EQ(code(late.get()), errc::cancelled) << name << ": the stop was requested before";
  }
  EXPECT_TRUE(succeeded(std::move(held).release()));
  EXPECT_TRUE(eventually([&] { return list().locks.empty(); }));
}

TEST_P(store_promises, a_session_never_waits_for_itself) {
  session s = open();
  session other = open();
  lock mine = held_by(s, "a");
  EXPECT_EQ(code(s.try_acquire(lock_name("a"))), errc::busy);
  EXPECT_EQ(code(s.acquire(lock_name("a"), {.wait = forever})), errc::busy);
  std::optional<errc> said;
  std::thread([&] { said = code(s.acquire(lock_name("a"), {.wait = forever})); }).join();
  EXPECT_EQ(said, errc::busy) << "in any thread";
  EXPECT_TRUE(succeeded(mine.check()));
  lock theirs = held_by(other, "b");
  auto awaited = begin(s, "b");
  EXPECT_EQ(code(s.acquire(lock_name("b"), {.wait = forever})), errc::busy) << "it awaits it";
  EXPECT_TRUE(succeeded(std::move(theirs).release()));
  ASSERT_TRUE(comes(awaited));
  EXPECT_TRUE(succeeded(awaited.get()));
  EXPECT_TRUE(succeeded(std::move(mine).release()));
  EXPECT_TRUE(succeeded(s.try_acquire(lock_name("a"))));
}

TEST_P(store_promises, a_call_that_is_wrong_is_refused_and_changes_nothing) {
  session s = open();
  EXPECT_EQ(code(s.acquire(lock_name("a"), {.wait = -1ns})), errc::invalid_argument);
  for (const auto how : {mode::permits(0), mode::permits(mode::permits_max + 1)}) {
    EXPECT_EQ(code(s.try_acquire(lock_name("a"), how)), errc::invalid_argument) << how.str();
  }
  EXPECT_EQ(code(s.acquire_all({})), errc::invalid_argument);
  EXPECT_EQ(code(s.acquire_all({lock_name("a"), lock_name("b"), lock_name("a")})),
            errc::invalid_argument);
  EXPECT_EQ(code(s.acquire_all({lock_name("a"), lock_name("")})), errc::invalid_argument);
  auto asked = begin(s, "a\n", {});
  ASSERT_TRUE(comes(asked));
  EXPECT_EQ(code(asked.get()), errc::invalid_argument);
  EXPECT_TRUE(eventually([&] { return list().locks.empty(); }));
  EXPECT_TRUE(succeeded(s.try_acquire(lock_name("a"))));
}

TEST_P(store_promises, all_of_several_are_taken_or_none) {
  session s = open();
  session other = open();
  const std::vector names{lock_name("c"), lock_name("a"), lock_name("b")};
  {
    const lock theirs = held_by(other, "b");
    EXPECT_EQ(code(s.acquire_all(names)), errc::busy);
    EXPECT_EQ(code(s.acquire_all(names, {.wait = 10ms})), errc::timed_out);
    for (const char* name : {"a", "c"}) {
      EXPECT_TRUE(succeeded(other.try_acquire(lock_name(name)))) << name << " was given back";
    }
  }
  const auto all = s.acquire_all(names, {.wait = long_enough});
  ASSERT_TRUE(succeeded(all));
  ASSERT_EQ(all->size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(all->at(i).name(), names[i]);
    EXPECT_TRUE(succeeded(all->at(i).check()));
    EXPECT_EQ(code(other.try_acquire(names[i])), errc::busy);
  }
}

TEST_P(store_promises, a_release_with_a_callback_tells_it_once_when_the_name_is_free) {
  session s = open();
  session other = open();
  lock l = held_by(s, "a");
  std::atomic<int> runs{};
  std::promise<result<void>> told;
  auto released = told.get_future();
  std::move(l).release([&](result<void> r) {
    if (++runs == 1) told.set_value(std::move(r));
  });
  EXPECT_EQ(code(l.check()), errc::lost) << "from before the store is asked";
  ASSERT_TRUE(comes(released));
  EXPECT_TRUE(succeeded(released.get()));
  EXPECT_TRUE(succeeded(other.try_acquire(lock_name("a"))));
  EXPECT_EQ(runs, 1);
}

TEST_P(store_promises, a_mutex_is_a_lock) {
  session s = open();
  session other = open();
  mutex mine(s, lock_name("a"));
  mutex theirs(other, lock_name("a"));
  mine.lock();
  EXPECT_THROW(mine.lock(), std::system_error);
  ASSERT_NE(mine.held(), nullptr);
  EXPECT_TRUE(succeeded(mine.held()->check()));
  EXPECT_FALSE(theirs.try_lock());
  EXPECT_FALSE(theirs.try_lock_for(1ms));
  mine.unlock();
  EXPECT_TRUE(theirs.try_lock_for(long_enough));
  theirs.unlock();
}

}  // namespace
}  // namespace holdfast::promises
