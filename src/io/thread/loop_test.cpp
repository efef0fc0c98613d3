#include "io/thread/loop.hpp"

#include "core/sanitizer.hpp"
#include "io/process/process_watch.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <iterator>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

TEST(loop, runs_timers_in_order_of_time_and_not_early) {
  const auto l = *loop::start();
  std::vector<int> order;
  std::latch done(2);
  const auto began = clock::now();
  // On the loop's thread, so that neither can run before both are there.
  l->post([&] {
    l->at(began + 40ms, [&] {
      order.push_back(2);
      done.count_down();
    });
    l->at(began + 20ms, [&] {
      order.push_back(1);
      done.count_down();
    });
  });
  done.wait();
  EXPECT_GE(clock::now() - began, 40ms);
  EXPECT_EQ(order, (std::vector{1, 2}));
}

// As with thousands of waiters: the answer to a heartbeat is not to come behind all of them.
TEST(loop, timers_that_are_due_together_leave_a_descriptor_its_turn_and_keep_their_order) {
  constexpr int timers = 1'000;
  int ends[2]{};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const auto l = *loop::start();
  std::vector<int> order;
  std::latch waits(1);
  std::latch done(timers + 1);
  l->post([&] {
    l->when_readable(ends[0], [&] {
      order.push_back(-1);
      done.count_down();
    });
    l->post([&] { waits.count_down(); });  // Behind what has it waited for.
  });
  waits.wait();
  l->post([&] {  // Both are there when the loop looks what is ready next.
    const auto now = clock::now();
    for (int n = 0; n < timers; ++n) {
      l->at(now - 1ms, [&, n] {
        order.push_back(n);
        done.count_down();
      });
    }
    EXPECT_EQ(::write(ends[1], "x", 1), 1);
  });
  done.wait();
  ::close(ends[1]);
  EXPECT_NE(order.back(), -1);
  std::erase(order, -1);
  EXPECT_EQ(order.size(), static_cast<std::size_t>(timers));
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST(loop, a_cancelled_timer_does_not_run) {
  const auto l = *loop::start();
  std::atomic<bool> ran{};
  std::latch done(1);
  l->post([&] {  // On the loop's thread, so that it cannot run before it is cancelled.
    const auto id = l->at(clock::now() + 20ms, [&] { ran = true; });
    l->cancel(id);
    l->cancel(id);
    l->at(clock::now() + 40ms, [&] { done.count_down(); });
  });
  done.wait();
  EXPECT_FALSE(ran);
}

TEST(loop, a_timer_that_another_of_the_same_moment_cancels_does_not_run) {
  const auto l = *loop::start();
  std::atomic<bool> ran{};
  std::latch done(1);
  l->post([&] {  // Both are due when the loop looks at its timers next.
    const auto id = std::make_shared<std::uint64_t>();
    const auto now = clock::now();
    l->at(now - 2ms, [&, id] { l->cancel(*id); });
    *id = l->at(now - 1ms, [&] { ran = true; });
    l->at(now, [&] { done.count_down(); });
  });
  done.wait();
  EXPECT_FALSE(ran);
}

TEST(loop, a_timer_that_is_due_does_not_run_once_the_last_owner_is_gone) {
  auto l = *loop::start();
  const auto ran = std::make_shared<std::atomic<bool>>();
  auto* raw = l.get();
  raw->post([ran, owner = std::move(l)]() mutable {
    const auto now = clock::now();
    auto& of = *owner;
    of.at(now - 1ms, [last = std::move(owner)]() mutable { last.reset(); });
    of.at(now, [ran] { *ran = true; });
  });
  // A later start joins the loop and drops what it had to do.
  for (int n = 0; n < 2'000 && ran.use_count() > 1; ++n) {
    std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(loop::start());
  }
  EXPECT_EQ(ran.use_count(), 1);
  EXPECT_FALSE(*ran);
}

TEST(loop, runs_a_timer_in_time_that_is_earlier_than_all_others) {
  const auto l = *loop::start();
  l->at(clock::now() + 1h, [] {});
  const auto ran = std::make_shared<std::latch>(1);
  l->at(clock::now() + 20ms, [ran] { ran->count_down(); });
  for (int n = 0; n < 2'000 && !ran->try_wait(); ++n) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(ran->try_wait());
}

TEST(loop, a_timer_that_has_run_cannot_be_cancelled_any_more) {
  const auto l = *loop::start();
  std::latch ran(1);
  const auto id = l->at(clock::now(), [&] { ran.count_down(); });
  ran.wait();
  l->cancel(id);
  std::latch next(1);
  l->at(clock::now(), [&] { next.count_down(); });
  next.wait();
}

// What a task owns may cancel another timer when it ends.
TEST(loop, what_a_cancelled_timer_owns_ends_where_the_loop_may_be_used) {
  const auto l = *loop::start();
  struct owned {
    explicit owned(loop& of) : l(of), id(of.at(clock::now() + 1h, [] {})) {}
    ~owned() { l.cancel(id); }
    loop& l;
    std::uint64_t id;
  };
  l->cancel(l->at(clock::now() + 1h, [o = std::make_shared<owned>(*l)] {}));
}

TEST(loop, a_timer_that_is_due_again_and_again_leaves_others_their_turn) {
  const auto l = *loop::start();
  const auto past = clock::now() - 1ms;
  std::atomic<bool> begun{};
  std::atomic<bool> enough{};
  std::function<void()> again = [&] {
    begun = true;
    if (!enough) l->at(past, again);
  };
  l->at(past, again);
  while (!begun) std::this_thread::sleep_for(1ms);
  std::latch done(1);
  l->post([&] { done.count_down(); });
  for (int n = 0; n < 1'000 && !done.try_wait(); ++n) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(done.try_wait());
  enough = true;
  std::latch last(1);
  l->post([&] { last.count_down(); });
  last.wait();
}

TEST(loop, sleeps_when_its_timers_have_run) {
  const auto l = *loop::start();
  std::latch ran(1);
  clockid_t used{};
  l->at(clock::now(), [&] {
    ::pthread_getcpuclockid(::pthread_self(), &used);
    ran.count_down();
  });
  ran.wait();
  const auto now = [&] {
    timespec t{};
    ::clock_gettime(used, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
  };
  const auto before = now();
  std::this_thread::sleep_for(400ms);
  EXPECT_LT(now() - before, 100ms);
}

TEST(loop, waits_for_what_is_running_when_its_owner_goes) {
  auto l = *loop::start();
  std::latch running(1);
  std::atomic<bool> done{};
  l->post([&] {
    running.count_down();
    std::this_thread::sleep_for(100ms);
    done = true;
  });
  running.wait();
  l.reset();
  EXPECT_TRUE(done);
}

TEST(loop, what_is_forgotten_is_not_told_that_it_can_be_read) {
  const auto l = *loop::start();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const int other = ::dup(ends[0]);
  std::atomic<int> told{};
  l->forget(l->when_readable(ends[0], [&] { ++told; }));
  std::latch read(1);
  l->when_readable(other, [&] { read.count_down(); });
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  read.wait();
  EXPECT_EQ(told, 0);
  EXPECT_EQ(::fcntl(ends[0], F_GETFD), -1) << "it was closed";
  ::close(ends[1]);
}

TEST(loop, may_lose_its_last_owner_on_its_own_thread) {
  auto l = *loop::start();
  std::latch done(1);
  auto* raw = l.get();
  const std::weak_ptr<loop> there = l;
  raw->post([&done, owner = std::move(l)]() mutable {
    owner.reset();
    done.count_down();
  });
  done.wait();
  EXPECT_TRUE(there.expired());
}

TEST(loop, says_that_it_cannot_start_where_descriptors_run_out) {
#if HOLDFAST_UNDER_ASAN || HOLDFAST_UNDER_TSAN
  GTEST_SKIP() << "sanitizers need descriptors for checks of their own";
#endif
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(loop::start());  // What the process keeps of the first one.
  const int lowest_free = ::dup(STDERR_FILENO);
  ::close(lowest_free);
  int refused = 0;
  for (int room = 0; room < 32; ++room) {
    rlimit tight = before;
    tight.rlim_cur = static_cast<rlim_t>(lowest_free + room);
    ::setrlimit(RLIMIT_NOFILE, &tight);
    const auto l = loop::start();
    ::setrlimit(RLIMIT_NOFILE, &before);
    if (l) break;
    EXPECT_EQ(l.error(), errc::unavailable);
    ++refused;
  }
  EXPECT_GE(refused, 4);  // The timer, its second descriptor, and the context's own two.
  const int still_free = ::dup(STDERR_FILENO);
  ::close(still_free);
  EXPECT_EQ(still_free, lowest_free) << "a loop that did not start left a descriptor open";
}

TEST(process_watch, hears_of_the_end_of_a_process) {
  const auto l = *loop::start();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::pause();
    ::_exit(0);
  }
  std::latch ended(1);
  process_watch watch;
  ASSERT_EQ(watch.arm(l, pid, [&] { ended.count_down(); }), process_watch::armed::yes);
  ::kill(pid, SIGKILL);
  ended.wait();
  ::waitpid(pid, nullptr, 0);
  process_watch second;
  EXPECT_EQ(second.arm(l, pid, [] {}), process_watch::armed::no_such_process);
}

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

TEST(process_watch, one_that_ends_while_the_task_that_armed_it_goes_on_keeps_no_descriptor) {
  const auto l = *loop::start();
  const auto before = open_descriptors();
  for (int i = 0; i < 100; ++i) {
    auto watch = std::make_unique<process_watch>();
    std::latch armed(1), gone(1), left(1);
    l->post([&] {
      EXPECT_EQ(watch->arm(l, ::getpid(), [] {}), process_watch::armed::yes);
      armed.count_down();
      gone.wait();
      left.count_down();
    });
    armed.wait();
    watch.reset();
    gone.count_down();
    left.wait();
  }
  // Behind all that was posted meanwhile, by whichever thread.
  std::latch over(1);
  l->post([&] { l->post([&] { over.count_down(); }); });
  over.wait();
  EXPECT_EQ(open_descriptors(), before);
}

TEST(process_watch, leaves_a_program_its_descriptors) {
  const auto l = *loop::start();
  std::vector<std::unique_ptr<process_watch>> all;
  for (int i = 0; i < process_watch::most; ++i) {
    all.push_back(std::make_unique<process_watch>());
    ASSERT_EQ(all.back()->arm(l, ::getpid(), [] {}), process_watch::armed::yes);
  }
  process_watch one_more;
  EXPECT_EQ(one_more.arm(l, ::getpid(), [] {}), process_watch::armed::cannot);
  all.pop_back();
  EXPECT_EQ(one_more.arm(l, ::getpid(), [] {}), process_watch::armed::yes);
}

// Their loops outlive the program's static objects, as one does whose tasks own it.

TEST(loop_at_the_programs_end, runs_what_was_posted_before_and_what_that_posts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static auto* const kept = new std::shared_ptr<loop>(*loop::start());
        const auto& l = *kept;
        std::latch busy(1);
        l->post([&] {
          busy.count_down();
          std::this_thread::sleep_for(20ms);
        });
        busy.wait();
        l->post([] { (*kept)->post([] { (*kept)->post([] { ::_exit(7); }); }); });
        std::exit(0);
      },
      testing::ExitedWithCode(7), "");
}

// It may use what has static storage, for longer than others are given.
TEST(loop_at_the_programs_end, waits_for_a_task_that_blocks) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static auto* const kept = new std::shared_ptr<loop>(*loop::start());
        std::latch busy(1);
        (*kept)->post([&] {
          busy.count_down();
          std::this_thread::sleep_for(600ms);
          ::_exit(7);
        });
        busy.wait();
        std::exit(0);
      },
      testing::ExitedWithCode(7), "");
}

TEST(loop_at_the_programs_end, does_not_wait_for_the_task_that_ends_it) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static auto* const kept = new std::shared_ptr<loop>(*loop::start());
        (*kept)->post([] { std::exit(7); });
        for (;;) ::pause();
      },
      testing::ExitedWithCode(7), "");
}

TEST(loop_at_the_programs_end, does_not_wait_for_tasks_that_go_on_for_ever) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static auto* const kept = new std::shared_ptr<loop>(*loop::start());
        static std::function<void()>* const again =
            new std::function<void()>([] { (*kept)->post(*again); });
        (*kept)->post(*again);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace holdfast::io
