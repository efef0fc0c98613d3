#include "io/alarm.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

struct guarded_thing final : alarm::guarded {
  time_point deadline() const noexcept override { return time_point{duration{until.load()}}; }
  void passed() noexcept override {
    at = clock::now().time_since_epoch().count();
    fired.count_down();
  }
  std::atomic<std::int64_t> until{};
  std::atomic<std::int64_t> at{};
  std::latch fired{1};
};

TEST(alarm, fires_at_the_deadline_and_not_before) {
  const auto a = *alarm::of_process();
  const auto thing = std::make_shared<guarded_thing>();
  const auto until = clock::now() + 50ms;
  thing->until = until.time_since_epoch().count();
  a->watch(thing, until);
  thing->fired.wait();
  EXPECT_GE(thing->at, thing->until);
  EXPECT_LT(thing->at - thing->until, (50ms / 1ns));
}

TEST(alarm, notices_that_a_deadline_was_moved) {
  const auto a = *alarm::of_process();
  const auto thing = std::make_shared<guarded_thing>();
  const auto first = clock::now() + 20ms;
  thing->until = first.time_since_epoch().count();
  a->watch(thing, first);
  thing->until = (first + 80ms).time_since_epoch().count();
  thing->fired.wait();
  EXPECT_GE(thing->at, thing->until);
}

TEST(alarm, forgets_what_is_unwatched_or_gone) {
  const auto a = *alarm::of_process();
  const auto thing = std::make_shared<guarded_thing>();
  thing->until = (clock::now() + 20ms).time_since_epoch().count();
  a->unwatch(a->watch(thing, clock::now() + 20ms));
  a->watch(std::make_shared<guarded_thing>(), clock::now() + 10ms);
  std::this_thread::sleep_for(60ms);
  EXPECT_EQ(thing->at, 0);
}

TEST(alarm, runs_jobs_in_order_and_one_that_is_called_from_a_job_at_once) {
  const auto a = *alarm::of_process();
  std::vector<int> order;
  EXPECT_TRUE(a->post([&] { order.push_back(1); }));
  a->run(
      [&] {
        a->run([&] { order.push_back(2); }, 1s);
        order.push_back(3);
      },
      1s);
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

}  // namespace
}  // namespace holdfast::io
