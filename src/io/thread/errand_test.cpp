#include "io/thread/errand.hpp"

#include "io/thread/background.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <thread>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

/// What it does hangs until it is let go.
class hanging final : public errand {
 public:
  std::latch begun{1};
  std::latch free{1};
  std::atomic<int> times{};

 private:
  void work() override {
    if (++times == 1) begun.count_down();
    free.wait();
  }
};

TEST(errand, is_done_once_more_for_all_who_ask_meanwhile) {
  const auto e = std::make_shared<hanging>();
  e->ask();
  e->begun.wait();
  for (int n = 0; n < 200; ++n) e->ask();
  e->free.count_down();
  e->wait(30s);
  EXPECT_EQ(e->times, 2);
  e->ask();
  e->wait(30s);
  EXPECT_EQ(e->times, 3) << "its thread has ended, and another one begins";
}

/// Never at rest: each work is asked for once more.
class restless final : public errand {
 public:
  std::atomic<int> times{};
  std::atomic<bool> ends{};

 private:
  void work() override {
    ++times;
    if (!ends) ask();
    std::this_thread::sleep_for(1ms);
  }
};

TEST(errand, is_not_waited_for_by_who_asked_once_while_others_go_on_asking) {
  const auto e = std::make_shared<restless>();
  e->ask();
  const auto began = clock::now();
  for (int n = 0; n < 10; ++n) {
    e->ask();
    e->wait(60s);
  }
  EXPECT_LT(clock::now() - began, 50s);
  EXPECT_GE(e->times, 2);
  e->ends = true;
  e->wait(60s);
}

TEST(errand, that_hangs_holds_up_the_first_who_waits_and_nobody_later) {
  const auto e = std::make_shared<hanging>();
  e->wait(1h);  // There is nothing to be done.
  e->ask();
  e->begun.wait();
  const auto began = clock::now();
  for (int n = 0; n < 60; ++n) {
    e->ask();
    e->wait(1s);
  }
  EXPECT_LT(clock::now() - began, 40s) << "each waited anew";
  e->free.count_down();
  e->wait(30s);
  EXPECT_EQ(e->times, 2);
}

TEST(errand, is_waited_for_until_the_limit) {
  const auto e = std::make_shared<hanging>();
  const auto began = clock::now();
  e->ask();
  e->wait(100ms);
  EXPECT_GE(clock::now() - began, 100ms);
  e->free.count_down();
  e->wait(30s);
  EXPECT_EQ(e->times, 1);
}

TEST(errand, is_waited_for_by_no_thread_of_the_library) {
  const auto e = std::make_shared<hanging>();
  e->ask();
  auto thread = start_thread("test", [&] { e->wait(1h); });
  ASSERT_TRUE(thread);
  thread->join();
  e->free.count_down();
  e->wait(30s);
}

TEST(errand, is_done_though_nobody_else_is_there_any_more) {
  auto e = std::make_shared<hanging>();
  const std::weak_ptr<hanging> left = e;
  e->ask();
  e->begun.wait();
  hanging& only = *e;
  e.reset();
  ASSERT_FALSE(left.expired());
  only.free.count_down();
  const auto end = clock::now() + 30s;
  while (!left.expired() && clock::now() < end) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(left.expired());
}

}  // namespace
}  // namespace holdfast::io
