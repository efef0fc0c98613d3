#include "tests/process/process_fixture.hpp"

#include <algorithm>
#include <thread>

/// Order of arrival and waking, across processes.

namespace holdfast::process {
namespace {

using namespace std::chrono_literals;

class order : public process_test {
 protected:
  /// Slot 0 counts arrivals; the slots from 10 on say who was granted when.
  child waiter(std::uint64_t number) {
    struct arrival : observer {
      explicit arrival(page& p) : shared(p) {}
      void on(const event::waiting&) noexcept override {
        if (!told) ++shared.slots[0];
        told = true;
      }
      page& shared;
      bool told{};
    };
    return child::fork([this, number] {
      auto s = join(at(), 1h, std::make_shared<arrival>(shared()));
      auto l = s.acquire(lock_name("x"), {.wait = 1h});
      if (!l) return 2;
      shared().slots[10 + shared().slots[1]++] = number;
      return std::move(*l).release() ? 0 : 3;
    });
  }
};

TEST_P(order, waiters_of_different_processes_are_granted_in_order_of_arrival) {
  auto holder = child::fork([&] {
    auto s = join(at(), 1h);
    auto l = s.try_acquire(lock_name("x"));
    shared().slots[2] = 1;
    return eventually([&] { return shared().stop != 0; }, 60s) && l ? 0 : 1;
  });
  ASSERT_TRUE(eventually([&] { return shared().slots[2] == 1; }));
  std::vector<child> queue;
  for (std::uint64_t i = 1; i <= 20; ++i) {
    queue.push_back(waiter(i));
    ASSERT_TRUE(eventually([&] { return shared().slots[0] == i; })) << i;
  }
  shared().stop = 1;
  EXPECT_EQ(holder.wait(), 0);
  for (auto& c : queue) EXPECT_EQ(c.wait(), 0);
  for (std::uint64_t i = 1; i <= 20; ++i) EXPECT_EQ(shared().slots[9 + i], i);
  expect_clean_store("x");
}

/// Also where there is no order.
class waking : public process_test {
 protected:
  static constexpr std::uint64_t grants = 101;
  static constexpr std::uint64_t batch = 10;

  /// Takes every second grant, from this one on. Slot 0 counts grants, slot 1 says after how many
  /// somebody was seen to wait, slot 2 how many milliseconds the fastest batch took.
  int take_turns(std::uint64_t first) {
    struct waits : observer {
      explicit waits(page& p) : shared(p) {}
      void on(const event::waiting&) noexcept override { shared.slots[1] = shared.slots[0].load(); }
      page& shared;
    };
    auto s = join(at(), 1h, std::make_shared<waits>(shared()));
    auto begun = clock::now();
    auto fastest = 60'000ms;
    for (auto n = first; n < grants; n += 2) {
      if (!eventually([&] { return shared().slots[0] == n; })) return 1;
      auto l = s.acquire(lock_name("x"), {.wait = 1h});
      if (!l) return 2;
      if (n % batch == 0) {
        const auto now = clock::now();
        const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(now - begun);
        if (n > 0) fastest = std::min(fastest, took);
        begun = now;
      }
      shared().slots[0] = n + 1;
      const bool is_last = n + 1 == grants;
      if (!is_last && !eventually([&] { return shared().slots[1] == n + 1; })) return 3;
      if (!std::move(*l).release()) return 4;
    }
    if (first == 0) shared().slots[2] = static_cast<std::uint64_t>(fastest.count());
    return 0;
  }
};

TEST_P(waking, a_waiter_is_woken_and_does_not_have_to_look_by_itself) {
  // Two processes hand one lock over and over to each other. A waiter that only looks from time to
  // time (every 250 ms) needs 2.5 s for each batch; one that is woken needs milliseconds, and is
  // held up by a busy machine, but not in every batch.
  std::vector<child> both;
  for (std::uint64_t first = 0; first < 2; ++first) {
    both.push_back(child::fork([&, first] { return take_turns(first); }));
  }
  for (auto& c : both) EXPECT_EQ(c.wait(), 0);
  EXPECT_LT(shared().slots[2], 1500U);
  expect_clean_store("x");
}

TEST_P(order, readers_of_many_processes_are_inside_together) {
  std::vector<child> readers;
  for (int i = 0; i < 5; ++i) {
    readers.push_back(child::fork([&] {
      auto s = join(at(), 1h);
      auto l = s.acquire(lock_name("x"), {.mode = mode::shared(), .wait = 30s});
      if (!l) return 1;
      ++shared().slots[0];
      return eventually([&] { return shared().slots[0] == 5; }) ? 0 : 2;
    }));
  }
  for (auto& c : readers) EXPECT_EQ(c.wait(), 0);
  expect_clean_store("x");
}

TEST_P(order, permits_are_counted_over_all_processes) {
  std::vector<child> all;
  for (int i = 0; i < 6; ++i) {
    all.push_back(child::fork([&] {
      auto s = join(at(), 1h);
      for (int k = 0; k < 30; ++k) {
        auto l = s.acquire(lock_name("p"), {.mode = mode::permits(2), .wait = 1h});
        if (!l) return 1;
        if (++shared().slots[0] > 2) ++shared().violations;
        std::this_thread::sleep_for(100us);
        --shared().slots[0];
        if (!std::move(*l).release()) return 2;
      }
      return 0;
    }));
  }
  for (auto& c : all) EXPECT_EQ(c.wait(), 0);
  EXPECT_EQ(shared().violations, 0U);
}

INSTANTIATE_TEST_SUITE_P(engines, order, testing::ValuesIn(all_stores()), kind_name);
INSTANTIATE_TEST_SUITE_P(engines, waking, testing::ValuesIn(all_stores_and_redlock()), kind_name);

}  // namespace
}  // namespace holdfast::process
