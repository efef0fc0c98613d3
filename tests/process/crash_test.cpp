#include "tests/process/process_fixture.hpp"

#include <thread>

/// Library holders that are killed or stopped at any moment.

namespace holdfast::process {
namespace {

using namespace std::chrono_literals;

class crash : public process_test {
 protected:
  child start(const std::string& name, duration ttl) {
    return child::fork([&, name, ttl] { return work(at(), name, ttl); });
  }

  void kill_one(child& victim) {
    const history::writer of(at().history(), "w" + std::to_string(victim.pid()));
    const auto sent = history::writer::now();
    victim.signal(SIGKILL);
    ASSERT_EQ(victim.wait(), 128 + SIGKILL);
    of.done(history::operation::kill, "", 0, sent, "ok");
  }

  /// Stops it for up to one and a half ttl, then wakes it: it must find out by itself.
  void stop_one(child& victim, duration ttl) {
    const history::writer of(at().history(), "w" + std::to_string(victim.pid()));
    auto sent = history::writer::now();
    victim.signal(SIGSTOP);
    of.done(history::operation::stop, "", 0, sent, "ok");
    std::this_thread::sleep_for(
        random_time(std::chrono::duration_cast<std::chrono::microseconds>(ttl * 3 / 2)));
    sent = history::writer::now();
    victim.signal(SIGCONT);
    of.done(history::operation::cont, "", 0, sent, "ok");
  }
};

TEST_P(crash, killed_and_stopped_holders_never_write_after_a_newer_one) {
  const duration ttl = GetParam().ttl_min;
  std::vector<child> workers;
  for (int i = 0; i < 3; ++i) workers.push_back(start("x", ttl));
  const int total = rounds(static_cast<int>(20s / ttl), 1000);
  for (int round = 0; round < total; ++round) {
    std::this_thread::sleep_for(random_time(20ms));
    auto& victim = workers[random_below(workers.size())];
    if (random_below(2) == 0) {
      kill_one(victim);
      victim = start("x", ttl);
    } else {
      stop_one(victim, ttl);
    }
    ASSERT_EQ(shared().violations, 0U) << "round " << round;
  }
  shared().stop = 1;
  for (auto& w : workers) EXPECT_EQ(w.wait(), 0);
  EXPECT_GT(shared().holders, 0U);
  RecordProperty("holders", static_cast<int>(shared().holders));
  EXPECT_EQ(shared().violations, 0U);
  expect_clean_history();
  expect_clean_store("x");
}

/// On a host that sees that a process has ended.
class crash_seen : public crash {};

TEST_P(crash_seen, a_killed_holders_lock_is_free_at_once) {
  // The ttl is an hour: only the life lock can free it in time.
  for (int round = 0; round < rounds(10, 100); ++round) {
    auto holder = child::fork([&] {
      auto s = join(at(), 1h);
      auto l = s.try_acquire(lock_name("x"));
      if (!l) return 1;
      shared().slots[0] = 1;
      for (;;) std::this_thread::sleep_for(1s);
      return 0;
    });
    ASSERT_TRUE(eventually([&] { return shared().slots[0] == 1; }));
    auto waiter = child::fork([&] {
      auto s = join(at(), 1h);
      shared().slots[1] = 1;
      auto l = s.acquire(lock_name("x"), {.wait = 60s});
      return l ? 0 : 1;
    });
    ASSERT_TRUE(eventually([&] { return shared().slots[1] == 1; }));
    std::this_thread::sleep_for(random_time(5ms));
    holder.end();
    ASSERT_EQ(waiter.wait(), 0) << "round " << round;
    shared().slots[0] = shared().slots[1] = 0;
  }
  expect_clean_store("x");
}

TEST_P(crash_seen, a_restarted_process_has_its_lock_back_at_once_even_with_a_try) {
  for (int round = 0; round < rounds(10, 100); ++round) {
    auto holder = child::fork([&] {
      auto s = join(at(), 1h);
      auto l = s.try_acquire(lock_name("x"));
      shared().slots[0] = l ? 1 : 2;
      for (;;) std::this_thread::sleep_for(1s);
      return 0;
    });
    ASSERT_TRUE(eventually([&] { return shared().slots[0] != 0; }));
    ASSERT_EQ(shared().slots[0], 1U) << "round " << round;
    holder.end();
    shared().slots[0] = 0;
  }
  expect_clean_store("x");
}

TEST_P(crash_seen, many_dead_owners_fall_together) {
  std::vector<child> queue;
  for (int i = 0; i < 20; ++i) {
    queue.push_back(child::fork([&] {
      auto s = join(at(), 1h);
      ++shared().slots[0];
      auto l = s.acquire(lock_name("x"), {.wait = 1h});
      for (;;) std::this_thread::sleep_for(1s);
      return 0;
    }));
  }
  ASSERT_TRUE(eventually([&] { return shared().slots[0] == 20; }));
  std::this_thread::sleep_for(50ms);
  for (auto& c : queue) c.signal(SIGKILL);
  for (auto& c : queue) EXPECT_EQ(c.wait(), 128 + SIGKILL);
  auto newcomer = child::fork([&] {
    auto s = join(at(), 1h);
    return s.try_acquire(lock_name("x")).has_value() ? 0 : 1;
  });
  EXPECT_EQ(newcomer.wait(), 0);
  expect_clean_store("x");
}

INSTANTIATE_TEST_SUITE_P(engines, crash, testing::ValuesIn(all_stores_and_redlock()), kind_name);
INSTANTIATE_TEST_SUITE_P(engines, crash_seen, testing::ValuesIn(all_stores()), kind_name);

}  // namespace
}  // namespace holdfast::process
