#pragma once

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

namespace holdfast::tests {

/// The exit code of a child in which `body` runs on a thread that has outlived the first one, as
/// after pthread_exit() in main(). The first one has called `before`.
inline int after_the_end_of_main(
    const std::function<int()>& body, const std::function<void()>& before = [] {}) {
  const pid_t child = ::fork();
  if (child == 0) {
    before();
    std::thread([&body] {
      struct stat s {};
      while (::stat("/proc/self/exe", &s) == 0) std::this_thread::yield();
      ::_exit(body());
    }).detach();
    ::syscall(SYS_exit, 0);  // pthread_exit() would unwind the test, which nothing may catch.
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace holdfast::tests
