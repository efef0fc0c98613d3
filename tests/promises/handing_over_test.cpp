#include "tests/promises/other_process.hpp"
#include "tests/promises/store_promises.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// A lock goes to the next one however its holder ends, and never before that.

namespace holdfast::promises {
namespace {

using testing::HasSubstr;

/// What one way to give a lock back does.
using ending = std::function<void(std::optional<session>& holder, std::optional<lock>& held)>;

TEST_P(store_promises, a_waiter_gets_the_lock_in_whatever_way_it_is_given_back) {
  const std::pair<const char*, ending> ways[] = {
      {"release", [](auto&, auto& held) { EXPECT_TRUE(succeeded(std::move(*held).release())); }},
      {"destructor", [](auto&, auto& held) { held.reset(); }},
      {"assignment", [](auto& holder, auto& held) { *held = held_by(*holder, "another"); }},
      {"close", [](auto& holder, auto&) { EXPECT_TRUE(succeeded(holder->close())); }},
      {"destructor of the session", [](auto& holder, auto&) { holder.reset(); }},
      {"assignment to the session", [this](auto& holder, auto&) { *holder = open(); }}};
  const auto heard = std::make_shared<listener>();
  session waiter = open({.observer = heard});
  std::ptrdiff_t waits = 0;
  for (const auto& [name, end] : ways) {
    SCOPED_TRACE(name);
    std::optional<session> holder(open());
    std::optional<lock> held(held_by(*holder, "a"));
    const token old = held->token();
    auto next = begin(waiter, "a");
    ASSERT_TRUE(eventually([&] { return heard->count("waiting a") > waits; }, long_enough));
    EXPECT_NE(next.wait_for(0s), std::future_status::ready) << "it is held";
    end(holder, held);
    ASSERT_TRUE(comes(next));
    auto l = next.get();
    ASSERT_TRUE(succeeded(l));
    EXPECT_GT(l->token(), old);
    EXPECT_TRUE(succeeded(std::move(*l).release()));
    waits = heard->count("waiting a");
  }
}

TEST_P(store_promises, sessions_and_their_threads_exclude_each_other) {
  constexpr int sessions = 3;
  constexpr int threads_each = 2;
  constexpr int grants_each = 4;
  std::vector<session> all;
  for (int i = 0; i < sessions; ++i) all.push_back(open());
  std::atomic<int> inside{};
  // Not atomic: TSan would see who does not exclude the others.
  int grants = 0;
  token last{};
  const auto work = [&](session& s) {
    for (int got = 0; got < grants_each;) {
      auto l = s.acquire(lock_name("a"), {.wait = long_enough});
      if (code(l) == errc::busy) {  // The other thread of this session has it.
        std::this_thread::sleep_for(1ms);
        continue;
      }
      ASSERT_TRUE(succeeded(l));
      EXPECT_EQ(inside.fetch_add(1), 0);
      ++grants;
      EXPECT_GT(l->token(), last);
      last = l->token();
      std::this_thread::yield();
      EXPECT_EQ(inside.fetch_sub(1), 1);
      EXPECT_TRUE(succeeded(std::move(*l).release()));
      ++got;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < sessions * threads_each; ++i) {
    threads.emplace_back([&, i] { work(all[static_cast<std::size_t>(i % sessions)]); });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(grants, sessions * threads_each * grants_each);
}

TEST_P(store_promises, what_a_denied_session_held_goes_to_the_next_once_it_has_stopped) {
  with_short_leases([this](duration ttl) {
    std::promise<errc> why;
    auto told = why.get_future();
    session holder = open(ttl);
    lock held = held_by(holder, "a");
    held.on_lost([&](const error& e) { why.set_value(e.code()); });
    const token old = held.token();
    session waiter = open();
    const lock others = held_by(waiter, "b");
    auto awaited = begin(holder, "b");
    std::atomic<bool> still_held{};
    std::promise<result<lock>> got;
    auto next = got.get_future();
    waiter.acquire(lock_name("a"), {.wait = long_enough}, [&](result<lock> l) {
      still_held = held.check().has_value();
      got.set_value(std::move(l));
    });
    const auto denied = view().deny(holder.id(), "me", "a test");
    if (!comes(told) || !comes(next) || !comes(awaited)) {
      ADD_FAILURE() << "what was denied does not end";
      return true;
    }
    const auto l = next.get();
    if (!denied) return false;  // It had expired.
    EXPECT_GE(denied->free_within, ttl);
    EXPECT_FALSE(still_held) << "two hold it";
    EXPECT_TRUE(succeeded(l) && l->token() > old);
    EXPECT_EQ(held.token(), old);
    if (told.get() == errc::lost) return false;
    EXPECT_EQ(code(awaited.get()), errc::denied) << "what it awaited is over too";
    EXPECT_EQ(holder.status().state, session_state::denied);
    EXPECT_EQ(holder.status().reason, "an operator (me) denied it: a test");
    EXPECT_EQ(code(holder.try_acquire(lock_name("c"))), errc::denied);
    EXPECT_EQ(code(std::move(held).release()), errc::lost);
    return true;
  });
}

TEST_P(process_promises, what_a_killed_process_held_goes_to_the_next) {
  const auto heard = std::make_shared<listener>();
  session s = open({.observer = heard});
  // Where its end is seen, by that and not by its ttl.
  other_process patient(url(), 1h, "a");
  auto next = begin(s, "a", {.wait = kind().sees_deaths ? long_enough : 100ms});
  patient.kill();
  ASSERT_TRUE(comes(next));
  const auto l = next.get();
  if (kind().sees_deaths) {
    ASSERT_TRUE(succeeded(l));
    EXPECT_GT(l->token(), patient.held());
    EXPECT_EQ(heard->count("took over broken"), 1);
  } else {
    EXPECT_EQ(code(l), errc::timed_out);
    EXPECT_EQ(code(s.try_acquire(lock_name("a"))), errc::busy) << "only its ttl ends it";
  }
  other_process brief(url_for(kind().ttl_min), kind().ttl_min, "b");
  brief.kill();
  const auto after = s.acquire(lock_name("b"), {.wait = long_enough});
  ASSERT_TRUE(succeeded(after));
  EXPECT_GT(after->token(), brief.held());
}

TEST_P(process_promises, a_process_that_hung_for_its_ttl_was_replaced_and_knows_it) {
  other_process hangs(url_for(kind().ttl_min), kind().ttl_min, "a");
  hangs.stop();
  const auto heard = std::make_shared<listener>();
  session s = open({.observer = heard});
  const auto l = s.acquire(lock_name("a"), {.wait = long_enough});
  ASSERT_TRUE(succeeded(l));
  EXPECT_GT(l->token(), hangs.held());
  EXPECT_EQ(heard->count("took over silent"), kind().has_queue ? 1 : 0);
  hangs.resume();
  EXPECT_FALSE(hangs.holds()) << "from its very first check";
  EXPECT_TRUE(succeeded(l->check()));
}

TEST_P(store_promises, only_a_dead_session_is_broken) {
  auto ops = view();
  session s = open();
  const lock held = held_by(s, "a");
  const auto living = ops.break_session(s.id());
  EXPECT_EQ(code(ops.break_session(session_id{})),
            kind().breaks ? errc::invalid_argument : errc::unsupported);
  ASSERT_EQ(code(living), kind().breaks ? errc::busy : errc::unsupported);
  const char* const why = kind().sees_deaths ? "is alive" : "cannot be judged";
  if (kind().breaks) {
    EXPECT_THAT(living.error().message(), HasSubstr(why));
  }
  EXPECT_TRUE(succeeded(held.check()));
  if (!kind().sees_deaths) return;
  other_process dies(url(), 1h, "b");
  EXPECT_EQ(list().find(dies.id())->life, life::alive);
  EXPECT_EQ(code(ops.break_session(dies.id())), errc::busy);
  EXPECT_TRUE(dies.holds());
  const auto pid = dies.pid();
  dies.kill();
  const auto seen = list();
  ASSERT_NE(seen.find(dies.id()), nullptr) << "nobody came who would remove it";
  EXPECT_EQ(seen.find(dies.id())->life, life::dead);
  const auto broken = ops.break_session(dies.id());
  ASSERT_TRUE(succeeded(broken));
  EXPECT_EQ(broken->pid, pid);
  EXPECT_EQ(broken->program, "another");
  EXPECT_EQ(code(ops.break_session(dies.id())), errc::invalid_argument);
  EXPECT_EQ(list().find(dies.id()), nullptr);
  EXPECT_TRUE(succeeded(s.try_acquire(lock_name("b")))) << "its locks are free at once";
}

}  // namespace
}  // namespace holdfast::promises
