#include "tests/process/process_fixture.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <thread>

/// fork(2) while holding: the child holds nothing and says so, and the parent notices nothing.

namespace holdfast::process {
namespace {

using namespace std::chrono_literals;

class forked : public process_test {};

int child_of_a_holder(session& s, lock& l) {
  if (const auto r = l.check(); r || !(r.error() == errc::lost)) return 1;
  if (l.remaining() != duration::zero()) return 2;
  if (s.remaining() != duration::zero()) return 3;
  if (const auto r = s.try_acquire(lock_name("y")); r || !(r.error() == errc::lost)) return 4;
  if (const auto r = std::move(l).release(); r || !(r.error() == errc::lost)) return 5;
  if (const auto r = s.close(); r || !(r.error() == errc::lost)) return 6;
  return 0;
}

TEST_P(forked, the_child_holds_nothing_and_the_parent_still_holds) {
  auto holder = child::fork([&] {
    auto s = join(at(), 2s);
    // With this ttl a server has to answer soon: on a busy machine the second time.
    auto l = s.acquire(lock_name("x"), {.wait = 30s});
    if (!l) return 1;
    const int said = in_a_fork([&] { return child_of_a_holder(s, *l); });
    if (said != 0) return 10 + said;
    // Destructors in the child must leave the parent's lock alone.
    if (in_a_fork([&] {
          {
            const auto session = std::move(s);
            const auto held = std::move(*l);
          }
          return 0;
        }) != 0) {
      return 20;
    }
    std::this_thread::sleep_for(4200ms);  // Two ttl: the parent still beats.
    return l->check() && std::move(*l).release() && s.close() ? 0 : 21;
  });
  EXPECT_EQ(holder.wait(), 0);
  expect_clean_store("x");
}

TEST_P(forked, the_child_may_open_a_session_of_its_own) {
  auto holder = child::fork([&] {
    auto s = join(at(), 1h);
    auto l = s.try_acquire(lock_name("x"));
    if (!l) return 1;
    const int said = in_a_fork([&] {
      auto own = holdfast::open(at().patient_url, {.ttl = 1h});
      if (!own) return 2;
      const auto busy = own->try_acquire(lock_name("x"));
      if (busy || !(busy.error() == errc::busy)) return 3;
      auto other = own->try_acquire(lock_name("y"));
      if (!other) return 4;
      return std::move(*other).release() && own->close() ? 0 : 5;
    });
    if (said != 0) return said;
    return l->check() ? 0 : 6;
  });
  EXPECT_EQ(holder.wait(), 0);
  expect_clean_store("x");
}

/// Where the life of an owner's processes is seen.
class forked_and_seen : public forked {};

TEST_P(forked_and_seen, a_child_that_lives_on_keeps_the_life_lock_until_it_ends) {
  auto holder = child::fork([&] {
    auto s = join(at(), 1h);
    auto l = s.try_acquire(lock_name("x"));
    if (!l) return 1;
    const pid_t made = ::fork();
    if (made == 0) {
      while (shared().stop == 0) std::this_thread::sleep_for(1ms);
      ::_exit(0);
    }
    ::raise(SIGKILL);
    return 2;
  });
  EXPECT_EQ(holder.wait(), 128 + SIGKILL);
  auto early = child::fork([&] {
    auto s = join(at(), 1h);
    const auto l = s.try_acquire(lock_name("x"));
    return !l && l.error() == errc::busy ? 0 : 1;
  });
  EXPECT_EQ(early.wait(), 0) << "broken although a process of the owner lives";
  shared().stop = 1;
  EXPECT_TRUE(nobody_is_left());
  expect_clean_store("x");
}

INSTANTIATE_TEST_SUITE_P(engines, forked, testing::ValuesIn(all_stores_and_redlock()), kind_name);
INSTANTIATE_TEST_SUITE_P(engines, forked_and_seen, testing::ValuesIn(all_stores()), kind_name);

}  // namespace
}  // namespace holdfast::process
