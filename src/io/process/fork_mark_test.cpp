#include "io/process/fork_mark.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

namespace holdfast::io {
namespace {

int exit_code(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(fork_mark, stays_the_same_within_a_process) {
  const auto first = process_generation();
  EXPECT_NE(first, 0U);
  std::vector<std::uint64_t> seen(8);
  std::vector<std::thread> threads;
  for (auto& s : seen) threads.emplace_back([&s] { s = process_generation(); });
  for (auto& t : threads) t.join();
  for (auto s : seen) EXPECT_EQ(s, first);
}

TEST(fork_mark, differs_in_a_child_and_again_in_a_grandchild) {
  const auto parent = process_generation();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto mine = process_generation();
    if (mine == parent || mine != process_generation()) ::_exit(1);
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      const auto deeper = process_generation();
      ::_exit(deeper == mine || deeper == parent ? 2 : 0);
    }
    ::_exit(exit_code(grandchild));
  }
  EXPECT_EQ(exit_code(child), 0);
  EXPECT_EQ(process_generation(), parent);
}

TEST(fork_mark, sees_a_fork_made_without_the_c_library) {
  const auto parent = process_generation();
  const auto child =
      static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, 0));
  if (child == 0) ::_exit(process_generation() == parent ? 1 : 0);
  EXPECT_EQ(exit_code(child), 0);
}

}  // namespace
}  // namespace holdfast::io
