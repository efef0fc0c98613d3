#include "tests/promises/store_promises.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// The ends of locks and sessions, and of the objects that stand for them.

namespace holdfast::promises {
namespace {

TEST_P(store_promises, a_lock_goes_with_its_object_and_ends_with_it) {
  session s = open();
  session other = open();
  std::optional<lock> first(held_by(s, "a"));
  const token was = first->token();
  lock second(std::move(*first));
  first.reset();
  EXPECT_TRUE(succeeded(second.check())) << "what was moved from ends nothing";
  EXPECT_EQ(second.token(), was);
  second = held_by(s, "b");
  EXPECT_EQ(second.name(), lock_name("b"));
  {
    const auto l = other.acquire(lock_name("a"), {.wait = long_enough});
    EXPECT_TRUE(succeeded(l)) << "the assignment released it";
  }
  std::vector<lock> many;
  for (const char* name : {"c", "d", "e"}) many.push_back(held_by(s, name));
  many.erase(many.begin());
  EXPECT_TRUE(succeeded(other.acquire(lock_name("c"), {.wait = long_enough})));
  EXPECT_EQ(code(other.try_acquire(lock_name("d"))), errc::busy);
  many.clear();
  EXPECT_TRUE(succeeded(other.acquire(lock_name("e"), {.wait = long_enough})));
}

TEST_P(store_promises, a_session_goes_with_its_object_and_its_locks_outlive_it_as_lost) {
  auto ops = std::make_optional(view());
  auto first = std::make_optional(ops->open_session().value());
  ops.reset();
  std::optional<lock> held(held_by(*first, "a"));
  const auto id = first->id();
  session second(std::move(*first));
  first.reset();
  EXPECT_EQ(second.id(), id);
  EXPECT_TRUE(succeeded(held->check()))
      << "the session needs neither its store nor its first place";
  const auto lost = held->lost();
  second = open();
  EXPECT_NE(second.id(), id);
  EXPECT_EQ(code(held->check()), errc::lost) << "the assignment closed it";
  EXPECT_TRUE(lost.stop_requested());
  EXPECT_EQ(held->remaining(), 0s);
  EXPECT_TRUE(succeeded(second.acquire(lock_name("a"), {.wait = long_enough})));
  held.reset();
  EXPECT_TRUE(eventually([&] { return list().find(id) == nullptr; }));
}

TEST_P(store_promises, closing_ends_every_lock_and_every_wait) {
  const auto heard = std::make_shared<listener>();
  session s = open({.observer = heard});
  session other = open();
  const lock theirs = held_by(other, "b");
  lock held = held_by(s, "a");
  std::atomic<int> told{};
  std::optional<error> why;
  held.on_lost([&](const error& e) {
    why = e;
    ++told;
  });
  const auto over = s.lost();
  auto awaited = begin(s, "b", {.wait = forever});
  std::optional<errc> said;
  session* const closing = &s;
  lock kept = held_by(other, "c");
  std::thread waits([&] { said = code(closing->acquire(lock_name("c"), {.wait = forever})); });
  EXPECT_TRUE(heard->comes_to_hear("waiting b"));
  EXPECT_TRUE(heard->comes_to_hear("waiting c"));
  EXPECT_TRUE(succeeded(s.close()));
  const auto known = heard->heard();
  EXPECT_TRUE(over.stop_requested());
  EXPECT_EQ(told, 1);
  EXPECT_EQ(why, errc::lost);
  EXPECT_EQ(code(held.check()), errc::lost);
  EXPECT_EQ(s.remaining(), 0s);
  EXPECT_EQ(s.status().state, session_state::closed);
  EXPECT_NE(s.status().reason, "");
  ASSERT_TRUE(comes(awaited));
  EXPECT_EQ(code(awaited.get()), errc::lost);
  waits.join();
  EXPECT_EQ(said, errc::lost);
  EXPECT_TRUE(succeeded(s.close())) << "closing twice succeeds";
  EXPECT_EQ(code(s.try_acquire(lock_name("d"))), errc::lost);
  EXPECT_EQ(code(s.acquire_all({lock_name("d")})), errc::lost);
  EXPECT_EQ(code(std::move(held).release()), errc::lost);
  const auto seen = list();
  EXPECT_EQ(seen.find(s.id()), nullptr);
  EXPECT_TRUE(succeeded(other.acquire(lock_name("a"), {.wait = long_enough})));
  EXPECT_TRUE(succeeded(theirs.check()));
  ASSERT_FALSE(known.empty());
  EXPECT_EQ(known.back(), "session closed");
  EXPECT_EQ(heard->heard(), known) << "an observer hears nothing once close() has returned";
}

TEST_P(store_promises, a_session_that_is_destroyed_ends_its_waits_and_drops_no_completion) {
  const auto heard = std::make_shared<listener>();
  auto s = std::make_optional(open({.observer = heard}));
  session other = open();
  const lock theirs = held_by(other, "a");
  auto awaited = begin(*s, "a", {.wait = forever});
  EXPECT_TRUE(heard->comes_to_hear("waiting a"));
  s.reset();
  ASSERT_TRUE(comes(awaited));
  EXPECT_EQ(code(awaited.get()), errc::lost);
  EXPECT_TRUE(succeeded(theirs.check()));
}

TEST_P(store_promises, on_lost_is_called_once_for_what_was_lost_and_never_for_what_was_released) {
  session s = open();
  std::vector<std::string> told;
  std::mutex telling;
  const auto tells = [&](const std::string& what) {
    return [&, what](const error& e) {
      const std::lock_guard hold(telling);
      told.push_back(what + " " + name_of(e.code()));
    };
  };
  std::optional<lock> released(held_by(s, "a"));
  released->on_lost(tells("released"));
  std::optional<lock> destroyed(held_by(s, "b"));
  destroyed->on_lost(tells("destroyed"));
  lock replaced = held_by(s, "c");
  replaced.on_lost(tells("replaced"));
  replaced.on_lost(tells("lost"));
  lock removed = held_by(s, "d");
  removed.on_lost(tells("removed"));
  removed.on_lost({});
  EXPECT_TRUE(succeeded(std::move(*released).release()));
  destroyed.reset();
  EXPECT_TRUE(succeeded(s.close()));
  EXPECT_EQ(told, std::vector<std::string>{"lost lost"});
  removed.on_lost(tells("late"));
  EXPECT_EQ(told, (std::vector<std::string>{"lost lost", "late lost"})) << "it is lost already";
}

TEST_P(store_promises, an_observer_hears_of_one_lock_in_order) {
  const auto heard = std::make_shared<listener>();
  session s = open({.observer = heard});
  session other = open();
  {
    lock theirs = held_by(other, "a");
    auto next = begin(s, "a");
    EXPECT_TRUE(heard->comes_to_hear("waiting a"));
    EXPECT_TRUE(succeeded(std::move(theirs).release()));
    ASSERT_TRUE(comes(next));
    auto l = next.get();
    ASSERT_TRUE(succeeded(l));
    EXPECT_EQ(heard->count("granted a"), 1) << "before the callback runs";
    EXPECT_TRUE(succeeded(std::move(*l).release()));
  }
  EXPECT_TRUE(heard->comes_to_hear("released a"));
  auto known = heard->heard();
  std::erase_if(known, [](const auto& what) { return !what.ends_with(" a"); });
  const auto last_wait = std::ranges::find(known, "granted a");
  EXPECT_TRUE(
      std::all_of(known.begin(), last_wait, [](auto& what) { return what == "waiting a"; }));
  EXPECT_EQ(std::vector<std::string>(last_wait, known.end()),
            (std::vector<std::string>{"granted a", "released a"}));
}

/// Keeps the newest of each.
struct newest final : observer {
  using observer::on;
  void on(const event::waiting& e) noexcept override {
    const std::lock_guard hold(keeping);
    wait = e;
  }
  void on(const event::granted& e) noexcept override {
    const std::lock_guard hold(keeping);
    grant = e;
  }
  std::mutex keeping;
  std::optional<event::waiting> wait;
  std::optional<event::granted> grant;
};

TEST_P(store_promises, an_observer_is_told_who_is_ahead_and_how_long_it_took) {
  const auto told = std::make_shared<newest>();
  session s = open({.observer = told});
  session other = open({.program = "nightly"});
  lock theirs = held_by(other, "a");
  auto next = begin(s, "a");
  EXPECT_TRUE(eventually([&] {
    const std::lock_guard hold(told->keeping);
    return told->wait.has_value();
  }));
  std::this_thread::sleep_for(5ms);
  EXPECT_TRUE(succeeded(std::move(theirs).release()));
  ASSERT_TRUE(comes(next));
  const auto l = next.get();
  ASSERT_TRUE(succeeded(l));
  const std::lock_guard hold(told->keeping);
  ASSERT_TRUE(told->grant.has_value());
  EXPECT_EQ(told->grant->token, l->token());
  EXPECT_TRUE(told->grant->mode.is_exclusive());
  EXPECT_GE(told->grant->waited, 5ms);
  EXPECT_EQ(told->wait->name, lock_name("a"));
  EXPECT_EQ(told->wait->ahead, kind().has_queue ? 1U : 0U) << "zero: it is not known";
  if (!told->wait->first) return;
  EXPECT_EQ(told->wait->first->id, other.id());
  EXPECT_EQ(told->wait->first->owner.program, "nightly");
}

// What the child finds out is its exit status: zero, or the number of what was wrong.
TEST_P(store_promises, a_forked_child_holds_nothing_and_ends_nothing) {
  auto s = std::make_optional(open());
  auto ops = std::make_optional(view());
  auto held = std::make_optional(held_by(*s, "a"));
  const int wrong = process::in_a_fork([&] {
    if (code(held->check()) != errc::lost) return 1;
    if (held->remaining() != 0s || s->remaining() != 0s) return 2;
    if (!held->lost().stop_requested() || !s->lost().stop_requested()) return 3;
    if (code(s->try_acquire(lock_name("b"))) != errc::lost) return 4;
    if (code(s->acquire(lock_name("b"), {.wait = forever})) != errc::lost) return 5;
    if (code(s->acquire_all({lock_name("b")})) != errc::lost) return 6;
    if (code(held->fencing_token()) != errc::lost) return 7;
    if (code(ops->list()) != errc::lost) return 8;
    if (code(ops->deny(s->id(), "a child", "none")) != errc::lost) return 9;
    if (code(std::move(*held).release()) != errc::lost) return 10;
    if (code(s->close()) != errc::lost) return 11;
    held.reset();
    s.reset();
    ops.reset();
    return 0;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(succeeded(held->check()));
  EXPECT_EQ(list().locks.size(), 1U);
  EXPECT_TRUE(succeeded(std::move(*held).release()));
  EXPECT_TRUE(succeeded(s->close()));
  ops.reset();
  EXPECT_TRUE(comes_to_be_empty());
}

}  // namespace
}  // namespace holdfast::promises
