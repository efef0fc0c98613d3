#include "io/process/process_identity.hpp"

#include "tests/ended_main.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <future>

namespace holdfast::io {
namespace {

bool holds_in_a_child(const std::function<bool()>& what) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(what() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0;
}

TEST(process_number, is_one_in_all_threads_and_another_in_a_forked_child) {
  const auto ours = process_number();
  EXPECT_EQ(std::async(std::launch::async, process_number).get(), ours);
  EXPECT_TRUE(holds_in_a_child([&] { return process_number() != ours; }));
}

TEST(process_identity, is_read_again_when_no_descriptor_was_free) {
  const std::string boot = boot_id();
  if (boot.empty()) GTEST_SKIP() << "NOT TESTED: no boot id here";
  EXPECT_TRUE(holds_in_a_child([&] {
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    const rlimit none{0, before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
    const std::string poor = process_identity().boot_id;
    ::setrlimit(RLIMIT_NOFILE, &before);
    return poor.empty() && process_identity().boot_id == boot;
  }));
}

// Or a process whose main() has ended would take its clock for one of a kernel that has no time
// namespaces, and so for everybody's.
TEST(process_identity, is_the_same_after_the_end_of_main) {
  EXPECT_EQ(tests::after_the_end_of_main([pids = pid_namespace(), clock = boot_clock()] {
              if (pid_namespace() != pids) return 2;
              if (boot_clock() != clock) return 3;
              return process_identity().program.empty() ? 4 : 0;
            }),
            0);
}

TEST(process_number, is_the_same_after_the_end_of_main) {
  std::uint64_t ours = 0;
  EXPECT_EQ(tests::after_the_end_of_main([&] { return process_number() == ours ? 0 : 1; },
                                         [&] { ours = process_number(); }),
            0);
}

}  // namespace
}  // namespace holdfast::io
