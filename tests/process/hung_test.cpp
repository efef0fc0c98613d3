#include "tests/process/process_fixture.hpp"

#include <holdfast/store.hpp>

#include <thread>

/// Owners that live but do not move: taken over after the ttl; and owners that are denied.

namespace holdfast::process {
namespace {

using namespace std::chrono_literals;

class hung : public process_test {
 protected:
  /// Holds "x"; slot 0 is 1 then. When slot 1 is set it says what it finds: slot 2.
  child holder(duration ttl) {
    return child::fork([this, ttl] {
      auto s = join(at(), ttl);
      auto l = s.try_acquire(lock_name("x"));
      if (!l) return 1;
      shared().slots[0] = 1;
      if (!eventually([&] { return shared().slots[1] == 1; }, 60s)) return 2;
      const auto held = l->check();
      if (held) return 3;
      if (!(held.error() == errc::lost)) return 4;
      const auto again = s.try_acquire(lock_name("x"));
      if (again) return 5;
      // The signal comes from a thread, which the kernel has to wake first.
      if (!eventually([&] { return l->lost().stop_requested(); })) return 6;
      const auto is_final = [&] {
        const auto state = s.status().state;
        return state == session_state::expired || state == session_state::denied;
      };
      if (!eventually(is_final)) return 7;
      const auto released = std::move(*l).release();
      if (released || !(released.error() == errc::lost)) return 8;
      return 0;
    });
  }
};

TEST_P(hung, a_stopped_owner_is_taken_over_after_its_ttl_and_finds_out_when_it_wakes) {
  auto old = holder(2s);
  ASSERT_TRUE(eventually([&] { return shared().slots[0] == 1; }));
  const auto begin = clock::now();
  old.signal(SIGSTOP);
  auto next = child::fork([&] {
    auto s = join(at(), 1h);
    auto l = s.acquire(lock_name("x"), {.wait = 60s});
    if (!l) return 1;
    shared().slots[3] = 1;
    return eventually([&] { return shared().stop != 0; }, 60s) && l->check() ? 0 : 2;
  });
  ASSERT_TRUE(eventually([&] { return shared().slots[3] == 1; }));
  EXPECT_GE(clock::now() - begin, 1200ms) << "before the owner's lease can have ended";
  shared().slots[1] = 1;
  old.signal(SIGCONT);
  EXPECT_EQ(old.wait(), 0);
  shared().stop = 1;
  EXPECT_EQ(next.wait(), 0) << "the newer holder lost it to the older one";
  expect_clean_store("x");
}

TEST_P(hung, a_stopped_owner_that_nobody_waits_for_finds_itself_expired) {
  auto old = holder(1500ms);
  ASSERT_TRUE(eventually([&] { return shared().slots[0] == 1; }));
  old.signal(SIGSTOP);
  std::this_thread::sleep_for(2s);
  shared().slots[1] = 1;
  old.signal(SIGCONT);
  EXPECT_EQ(old.wait(), 0);
  expect_clean_store("x");
}

TEST_P(hung, a_try_from_processes_of_their_own_takes_over_in_the_end) {
  auto old = holder(1500ms);
  ASSERT_TRUE(eventually([&] { return shared().slots[0] == 1; }));
  old.signal(SIGSTOP);
  int code = 1;
  const auto begin = clock::now();
  while (code != 0 && clock::now() - begin < 60s) {
    auto attempt = child::fork([&] {
      auto s = join(at(), 1h);
      auto l = s.try_acquire(lock_name("x"));
      return l ? 0 : 1;
    });
    code = attempt.wait().value_or(9);
  }
  EXPECT_EQ(code, 0) << "tries never take a hung owner over";
  shared().slots[1] = 1;
  old.signal(SIGCONT);
  EXPECT_EQ(old.wait(), 0);
}

TEST_P(hung, deny_ends_a_live_holder_within_its_ttl) {
  auto old = holder(3s);
  ASSERT_TRUE(eventually([&] { return shared().slots[0] == 1; }));
  auto waiter = child::fork([&] {
    auto s = join(at(), 1h);
    auto l = s.acquire(lock_name("x"), {.wait = 60s});
    return l ? 0 : 1;
  });
  const auto begin = clock::now();
  auto op = child::fork([&] {
    auto s = store::open(at().url);
    const auto all = s.value().list();
    for (const auto& l : all->locks) {
      const auto r = s->deny(l.entries.at(0).session, "the test", "to see it end");
      if (!r) return 1;
      const auto again = s->deny(l.entries.at(0).session, "the test", "again");
      if (!again || !again->already) return 2;
      // ttl * 1.01 + 2 ms, from a waiter's look within a quarter of the ttl.
      return r->free_within <= 3850ms && r->free_within >= 3s ? 0 : 3;
    }
    return 4;
  });
  EXPECT_EQ(op.wait(), 0);
  EXPECT_EQ(waiter.wait(), 0);
  EXPECT_LT(clock::now() - begin, 30s);
  shared().slots[1] = 1;
  EXPECT_EQ(old.wait(), 0);
  expect_clean_store("x");
}

INSTANTIATE_TEST_SUITE_P(engines, hung, testing::ValuesIn(all_stores_and_redlock()), kind_name);

}  // namespace
}  // namespace holdfast::process
