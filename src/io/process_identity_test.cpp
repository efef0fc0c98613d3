#include "io/process_identity.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>

namespace holdfast::io {
namespace {

TEST(process_number, is_one_in_all_threads_and_another_in_a_forked_child) {
  const auto ours = process_number();
  EXPECT_EQ(std::async(std::launch::async, process_number).get(), ours);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(process_number() != ours ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace holdfast::io
