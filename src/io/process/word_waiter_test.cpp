#include "io/process/word_waiter.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

/// Counts calls; waits for one with a limit.
class calls {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  bool reach(int n) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 60s, [&] { return count_ >= n; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_{};
};

TEST(word_waiter, calls_after_a_ring) {
  wake_word word{};
  calls seen;
  word_waiter waiter(word, [&] { seen.add(); });
  for (int i = 1; i <= 200; ++i) {
    ring(word);
    ASSERT_TRUE(seen.reach(i));
  }
}

TEST(word_waiter, calls_where_a_fault_comes_to_the_handler_of_the_program) {
  wake_word word{};
  calls seen;
  sigset_t blocked{};
  word_waiter waiter(word, [&] {
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    seen.add();
  });
  ring(word);
  ASSERT_TRUE(seen.reach(1));
  EXPECT_EQ(sigismember(&blocked, SIGSEGV), 0);
  EXPECT_EQ(sigismember(&blocked, SIGTERM), 1);
}

TEST(word_waiter, does_not_miss_a_ring_right_after_its_birth) {
  for (int i = 0; i < 100; ++i) {
    wake_word word{};
    calls seen;
    word_waiter waiter(word, [&] { seen.add(); });
    ring(word);
    ASSERT_TRUE(seen.reach(1));
  }
}

TEST(word_waiter, may_be_destroyed_inside_its_own_call) {
  wake_word word{};
  calls seen;
  std::unique_ptr<word_waiter> waiter;
  std::mutex ready;
  {
    const std::lock_guard lock(ready);
    waiter = std::make_unique<word_waiter>(word, [&] {
      {
        const std::lock_guard lock_inside(ready);
        waiter.reset();
      }
      seen.add();  // The last thing: the test may be over and its objects gone right after it.
    });
    ring(word);
  }
  EXPECT_TRUE(seen.reach(1));
  EXPECT_FALSE(waiter);
}

// The own thread, which has not seen yet that its place was taken, falls asleep behind the other.
TEST(word_waiter, that_wakes_up_leaves_the_one_that_took_its_place_asleep) {
  for (const auto last : {sleeper::own, sleeper::lent}) {
    const auto first = last == sleeper::own ? sleeper::lent : sleeper::own;
    wake_word word{};
    fall_asleep(word, first);
    fall_asleep(word, last);
    wake_up(word, last);
    EXPECT_NE(word.asleep, 0U) << "a ring would wake nobody";
    wake_up(word, first);
    EXPECT_EQ(word.asleep, 0U) << "each ring would make a system call";
  }
}

TEST(word_waiter, ends_at_once_when_nobody_rings) {
  wake_word word{};
  // It looks by itself once a second. Ten together, as a busy machine delays one or the other.
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) const word_waiter waiter(word, [] {});
  EXPECT_LT(std::chrono::steady_clock::now() - before, 9s);
}

}  // namespace
}  // namespace holdfast::io
