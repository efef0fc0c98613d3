#include "io/process/word_waiter.hpp"

#include "io/thread/latch.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <mutex>
#include <thread>

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

/// From here on this kernel is one that cannot wait for two words.
bool lose_waits_for_two() {
  const auto number = static_cast<std::uint32_t>(offsetof(seccomp_data, nr));
  sock_filter steps[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number),
                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex_waitv, 0, 1),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog all{.len = std::size(steps), .filter = steps};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
}

/// Lends its thread when the program's threads have ended, and is rung for meanwhile. Leaves with
/// 7 when that has come to an end.
struct late_lender {
  late_lender() = default;
  late_lender(const late_lender&) = delete;
  late_lender& operator=(const late_lender&) = delete;
  ~late_lender() {
    std::thread rings([this] {
      while (rung < 1 && !over) std::this_thread::sleep_for(1ms);
      ring(*word);
    });
    const bool done = waiter->lend(until.place(), [] { return true; });
    over = true;
    rings.join();
    ::_exit(done ? 7 : 8);
  }

  std::unique_ptr<wake_word> word = std::make_unique<wake_word>();
  std::atomic<int> rung{};
  std::atomic<bool> over{};
  latch until;
  std::unique_ptr<word_waiter> waiter;
};

void lend_behind_exit() {
  static late_lender last;  // Before the library's own: it outlives the threads of that.
  last.waiter = std::make_unique<word_waiter>(*last.word, [] {
    if (++last.rung > 1) last.until.open();
  });
  std::exit(0);
}

TEST(word_waiter_death_test, lends_its_place_when_the_program_has_ended_its_thread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(lend_behind_exit(), ::testing::ExitedWithCode(7), "");
}

TEST(word_waiter_death_test, lends_its_place_then_also_where_nobody_can_wait_for_two_words) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        if (!lose_waits_for_two()) ::_exit(7);
        lend_behind_exit();
      },
      ::testing::ExitedWithCode(7), "");
}

// Its thread sleeps elsewhere then, where no ring wakes it.
TEST(word_waiter_death_test, ends_at_once_while_it_rests) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ::alarm(60);
        wake_word word{};
        latch until;
        auto waiter = std::make_unique<word_waiter>(word, [&] { until.open(); });
        const bool done = waiter->lend(until.place(), [] { return false; });
        std::this_thread::sleep_for(100ms);
        waiter.reset();
        ::_exit(done ? 7 : 8);
      },
      ::testing::ExitedWithCode(7), "");
}

void exit_in_the_midst() {
  static wake_word word;
  static std::atomic<bool> busy;
  const auto* const waiter = new word_waiter(word, [] {  // It is there when the program ends.
    busy = true;
    busy.notify_all();
    std::this_thread::sleep_for(600ms);
    ::_exit(7);
  });
  ring(word);
  busy.wait(false);
  std::exit(waiter == nullptr ? 1 : 0);
}

TEST(word_waiter_death_test, is_waited_for_by_the_end_of_the_program) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exit_in_the_midst(), ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace holdfast::io
