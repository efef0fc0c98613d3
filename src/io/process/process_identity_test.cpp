#include "io/process/process_identity.hpp"

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

}  // namespace
}  // namespace holdfast::io
