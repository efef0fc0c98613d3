#include "io/net/earliest_timer.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

/// Counts how often it was woken, and when.
class sleeper : public std::enable_shared_from_this<sleeper> {
 public:
  explicit sleeper(const std::shared_ptr<loop>& l) : timer_(l) {}

  void wake_at(time_point when) { timer_.no_later_than(when, *this, &sleeper::wake); }
  void cancel() { timer_.cancel(); }
  std::vector<time_point> woken() const {
    const std::lock_guard hold(mutex_);
    return woken_;
  }

 private:
  void wake() {
    const std::lock_guard hold(mutex_);
    woken_.push_back(clock::now());
  }

  earliest_timer timer_;
  mutable std::mutex mutex_;
  std::vector<time_point> woken_;
};

/// Returns when everything that the loop had to do until then is done.
void run_until(loop& l, time_point when) {
  std::latch done(1);
  l.at(when, [&] { done.count_down(); });
  done.wait();
}

TEST(earliest_timer, wakes_once_at_the_earliest_moment_whatever_the_order) {
  const auto l = *loop::start();
  const auto s = std::make_shared<sleeper>(l);
  const auto began = clock::now();
  std::latch asked(1);
  l->post([&] {  // On the loop's thread, so that it cannot run before all have asked.
    s->wake_at(began + 50ms);
    s->wake_at(began + 20ms);
    s->wake_at(began + 30ms);
    asked.count_down();
  });
  asked.wait();
  run_until(*l, began + 80ms);
  ASSERT_EQ(s->woken().size(), 1U);
  EXPECT_GE(s->woken().front(), began + 20ms);
}

TEST(earliest_timer, wakes_again_for_a_later_moment_after_it_has_run) {
  const auto l = *loop::start();
  const auto s = std::make_shared<sleeper>(l);
  const auto began = clock::now();
  s->wake_at(began + 5ms);
  run_until(*l, began + 20ms);
  s->wake_at(began + 30ms);
  run_until(*l, began + 60ms);
  ASSERT_EQ(s->woken().size(), 2U);
  EXPECT_GE(s->woken().back(), began + 30ms);
}

TEST(earliest_timer, does_not_wake_after_it_was_cancelled_and_can_be_asked_anew) {
  const auto l = *loop::start();
  const auto s = std::make_shared<sleeper>(l);
  const auto began = clock::now();
  std::latch asked(1);
  l->post([&] {  // On the loop's thread, so that it cannot run before it is cancelled.
    s->wake_at(began + 10ms);
    s->cancel();
    asked.count_down();
  });
  asked.wait();
  run_until(*l, began + 30ms);
  EXPECT_TRUE(s->woken().empty());
  s->wake_at(began + 40ms);
  run_until(*l, began + 60ms);
  EXPECT_EQ(s->woken().size(), 1U);
}

TEST(earliest_timer, forgets_an_owner_that_is_gone) {
  const auto l = *loop::start();
  auto s = std::make_shared<sleeper>(l);
  const std::weak_ptr<sleeper> seen = s;
  const auto began = clock::now();
  s->wake_at(began + 10ms);
  s.reset();
  EXPECT_TRUE(seen.expired()) << "the timer must not keep it";
  run_until(*l, began + 30ms);
}

TEST(earliest_timer, wakes_for_the_earliest_of_many_threads) {
  const auto l = *loop::start();
  for (int round = 0; round < 50; ++round) {
    const auto s = std::make_shared<sleeper>(l);
    const auto began = clock::now();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&s, i, began] { s->wake_at(began + (i == 2 ? 5ms : i * 1h + 1h)); });
    }
    for (auto& t : threads) t.join();
    run_until(*l, clock::now() + 10ms);
    ASSERT_EQ(s->woken().size(), 1U) << "round " << round;
  }
}

}  // namespace
}  // namespace holdfast::io
