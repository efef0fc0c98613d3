#include "io/thread/background.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace holdfast::io {
namespace {

bool is_blocked(int signal) {
  sigset_t now;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
  return sigismember(&now, signal) == 1;
}

TEST(background, a_thread_leaves_all_signals_to_the_program_but_those_of_its_own_faults) {
  std::thread ours = *start_thread("test", [] {
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
      EXPECT_FALSE(is_blocked(fault)) << fault;
    }
    for (const int other : {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGALRM, SIGUSR1, SIGXFSZ}) {
      EXPECT_TRUE(is_blocked(other)) << other;
    }
  });
  ours.join();
  EXPECT_FALSE(is_blocked(SIGTERM));
}

TEST(background, a_fault_on_a_thread_comes_to_the_handler_of_the_program) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::signal(SIGSEGV, [](int) { ::_exit(3); });
        std::thread ours = *start_thread("test", [] { ::raise(SIGSEGV); });
        ours.join();
        ::_exit(0);
      },
      testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace holdfast::io
