#include "io/thread/alarm.hpp"

#include "core/sanitizer.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

struct thing_with_a_deadline final : alarm::deadline_holder {
  time_point deadline() const noexcept override { return time_point{duration{until.load()}}; }
  bool passed() noexcept override {
    at = clock::now().time_since_epoch().count();
    fired.count_down();
    return true;
  }
  std::atomic<std::int64_t> until{};
  std::atomic<std::int64_t> at{};
  std::latch fired{1};
};

TEST(alarm, fires_at_the_deadline_and_not_before) {
  const auto a = *alarm::of_process();
  const auto thing = std::make_shared<thing_with_a_deadline>();
  const auto until = clock::now() + 50ms;
  thing->until = until.time_since_epoch().count();
  a->watch(thing, until);
  thing->fired.wait();
  EXPECT_GE(thing->at, thing->until);
  EXPECT_LT(thing->at - thing->until, (20s / 1ns));
}

TEST(alarm, fires_for_a_deadline_that_is_earlier_than_all_that_are_watched) {
  const auto a = *alarm::of_process();
  const auto far = std::make_shared<thing_with_a_deadline>();
  far->until = (clock::now() + 1h).time_since_epoch().count();
  const auto id = a->watch(far, clock::now() + 1h);
  const auto near = std::make_shared<thing_with_a_deadline>();
  const auto until = clock::now() + 50ms;
  near->until = until.time_since_epoch().count();
  a->watch(near, until);
  for (int n = 0; n < 2'000 && !near->fired.try_wait(); ++n) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(near->fired.try_wait()) << "a loss would be told an hour late";
  a->unwatch(id);
}

TEST(alarm, notices_that_a_deadline_was_moved) {
  const auto a = *alarm::of_process();
  const auto thing = std::make_shared<thing_with_a_deadline>();
  const auto first = clock::now() + 200ms;
  thing->until = first.time_since_epoch().count();
  a->watch(thing, first);
  thing->until = (first + 300ms).time_since_epoch().count();
  thing->fired.wait();
  EXPECT_GE(thing->at, thing->until);
}

TEST(alarm, forgets_what_is_unwatched_or_gone) {
  const auto a = *alarm::of_process();
  const auto thing = std::make_shared<thing_with_a_deadline>();
  const auto until = clock::now() + 1s;
  thing->until = until.time_since_epoch().count();
  a->unwatch(a->watch(thing, until));
  a->watch(std::make_shared<thing_with_a_deadline>(), clock::now() + 10ms);
  const auto later = std::make_shared<thing_with_a_deadline>();
  later->until = (until + 50ms).time_since_epoch().count();
  a->watch(later, until + 50ms);
  later->fired.wait();
  EXPECT_EQ(thing->at, 0);
}

TEST(alarm, is_told_of_a_deadline_that_became_earlier) {
  const auto a = *alarm::of_process();
  const auto thing = std::make_shared<thing_with_a_deadline>();
  const auto first = clock::now() + 1h;
  thing->until = first.time_since_epoch().count();
  const auto id = a->watch(thing, first);
  const auto until = clock::now() + 50ms;
  thing->until = until.time_since_epoch().count();
  a->moved(id);
  thing->fired.wait();
  EXPECT_GE(thing->at, thing->until);
}

TEST(alarm, keeps_a_later_deadline_for_later_when_told_that_it_moved) {
  const auto a = *alarm::of_process();
  const auto thing = std::make_shared<thing_with_a_deadline>();
  const auto first = clock::now() + 20ms;
  const auto id = a->watch(thing, first);
  thing->until = (first + 50ms).time_since_epoch().count();
  a->moved(id);
  a->unwatch(a->watch(thing, first));
  a->moved(id + 1);
  thing->fired.wait();
  EXPECT_GE(thing->at, thing->until);
}

TEST(alarm, goes_on_with_what_was_extended_in_the_moment_in_which_its_deadline_passed) {
  struct extended final : alarm::deadline_holder {
    time_point deadline() const noexcept override { return time_point{duration{until.load()}}; }
    bool passed() noexcept override {
      if (told++ == 0) until = (clock::now() + 20ms).time_since_epoch().count();
      fired.count_down();
      return true;
    }
    std::atomic<std::int64_t> until{};
    std::atomic<int> told{};
    std::latch fired{2};
  };
  const auto a = *alarm::of_process();
  const auto thing = std::make_shared<extended>();
  const auto first = clock::now() + 10ms;
  thing->until = first.time_since_epoch().count();
  a->watch(thing, first);
  for (int n = 0; n < 3'000 && !thing->fired.try_wait(); ++n) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(thing->told, 2);
}

TEST(alarm, goes_on_with_what_had_not_passed_though_its_deadline_is_the_old_one_again) {
  struct back_again final : alarm::deadline_holder {
    time_point deadline() const noexcept override { return until; }
    bool passed() noexcept override {
      fired.count_down();
      return ++told == 2;
    }
    const time_point until{clock::now() + 10ms};
    std::atomic<int> told{};
    std::latch fired{2};
  };
  const auto a = *alarm::of_process();
  const auto thing = std::make_shared<back_again>();
  a->watch(thing, thing->until);
  for (int n = 0; n < 3'000 && !thing->fired.try_wait(); ++n) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(thing->told, 2);
  a->run([] {}, 1min);  // Behind what it does when it has told.
  a->run([] {}, 1min);
  EXPECT_EQ(thing->told, 2) << "it said that it is over";
}

TEST(alarm, forgets_what_is_unwatched_after_it_was_extended_so) {
  struct extended final : alarm::deadline_holder {
    time_point deadline() const noexcept override { return time_point{duration{until.load()}}; }
    bool passed() noexcept override {
      if (told++ == 0) until = (clock::now() + 200ms).time_since_epoch().count();
      return true;
    }
    std::atomic<std::int64_t> until{};
    std::atomic<int> told{};
  };
  const auto a = *alarm::of_process();
  const auto thing = std::make_shared<extended>();
  const auto first = clock::now() + 10ms;
  thing->until = first.time_since_epoch().count();
  const auto id = a->watch(thing, first);
  while (thing->told == 0) std::this_thread::sleep_for(1ms);
  // Behind what it does when it has told.
  a->run([] {}, 1min);
  a->unwatch(id);
  const auto later = std::make_shared<thing_with_a_deadline>();
  later->until = thing->until + (100ms / 1ns);
  a->watch(later, later->deadline());
  later->fired.wait();
  EXPECT_EQ(thing->told, 1);
}

TEST(alarm, forgets_what_is_unwatched_while_it_is_told) {
  struct unwatching final : alarm::deadline_holder {
    time_point deadline() const noexcept override { return time_point{duration{until.load()}}; }
    bool passed() noexcept override {
      ++told;
      until = 1;
      of->moved(id);
      until = (clock::now() + 10ms).time_since_epoch().count();
      of->unwatch(id);
      of->moved(id);
      return true;
    }
    std::shared_ptr<alarm> of{*alarm::of_process()};
    std::atomic<std::int64_t> until{};
    std::atomic<std::uint64_t> id{};
    std::atomic<int> told{};
  };
  const auto thing = std::make_shared<unwatching>();
  const auto first = clock::now() + 50ms;
  thing->until = first.time_since_epoch().count();
  thing->id = thing->of->watch(thing, first);
  const auto later = std::make_shared<thing_with_a_deadline>();
  later->until = (first + 100ms).time_since_epoch().count();
  thing->of->watch(later, first + 100ms);
  later->fired.wait();
  EXPECT_EQ(thing->told, 1);
}

TEST(alarm, fires_for_more_than_it_looks_at_in_one_go) {
  const auto a = *alarm::of_process();
  std::vector<std::shared_ptr<thing_with_a_deadline>> things(3'500);
  const auto until = clock::now() + 20ms;
  for (auto& thing : things) {
    thing = std::make_shared<thing_with_a_deadline>();
    thing->until = until.time_since_epoch().count();
    a->watch(thing, until);
  }
  for (const auto& thing : things) {
    thing->fired.wait();  // For ever, if it is left out.
    EXPECT_GE(thing->at, thing->until);
  }
}

TEST(alarm, runs_jobs_in_order_and_one_that_is_called_from_a_job_at_once) {
  const auto a = *alarm::of_process();
  std::vector<int> order;
  EXPECT_TRUE(a->post([&] { order.push_back(1); }));
  a->run(
      [&] {
        a->run([&] { order.push_back(2); }, 1min);
        order.push_back(3);
      },
      1min);
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST(alarm, waits_until_a_job_is_done_and_no_longer_than_it_may) {
  const auto a = *alarm::of_process();
  const auto done = std::make_shared<std::atomic<bool>>(false);
  a->run(
      [done] {
        std::this_thread::sleep_for(50ms);
        *done = true;
      },
      1min);
  EXPECT_TRUE(*done);
  const auto end = std::make_shared<std::latch>(1);
  a->run([end] { end->wait(); }, 20ms);
  end->count_down();
}

TEST(alarm, runs_a_job_although_a_deadline_is_watched_right_after_it) {
  const auto a = *alarm::of_process();
  const auto thing = std::make_shared<thing_with_a_deadline>();
  for (int n = 0; n < 2'000; ++n) {
    std::latch done(1);
    ASSERT_TRUE(a->post([&] { done.count_down(); }));
    // Earlier than all that is watched, so that the timer would be set to it.
    const auto id = a->watch(thing, clock::now() + 1h - std::chrono::seconds{n});
    done.wait();
    a->unwatch(id);
  }
}

#if !HOLDFAST_UNDER_TSAN  // It does not support new threads in a forked child.
TEST(alarm, ends_although_jobs_were_posted_until_the_end) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    const auto a = *alarm::of_process();
    std::latch began(1);
    a->post([&] {
      began.count_down();
      while (a->post([] {})) std::this_thread::sleep_for(1ms);
    });
    began.wait();
    a->stop();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "it waits for a deadline that never comes";
}

TEST(alarm, that_was_stopped_runs_a_job_at_once) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto a = *alarm::of_process();
    a->stop();
    bool ran = false;
    a->run([&] { ran = true; }, 1min);
    ::_exit(ran ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
#endif

}  // namespace
}  // namespace holdfast::io
