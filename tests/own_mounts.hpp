#pragma once

#include "tests/temporary_directory.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <string>

namespace holdfast::tests {

/// The code of a child that could not mount anything: it needs root.
inline constexpr int cannot_mount = 77;

/// Forks a child with mounts of its own; the exit code of what it runs after `mounts` succeeded.
inline int in_own_mounts(const std::function<bool()>& mounts, const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool own = ::unshare(CLONE_NEWNS) == 0 &&
                     ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 && mounts();
    ::_exit(own ? body() : cannot_mount);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// The child reads `id` where the kernel tells its boot id, as in a container that was given one.
inline int under_boot_id(const std::string& id, const std::function<int()>& body) {
  const temporary_directory directory;
  const std::string file = directory.path() + "/boot_id";
  std::ofstream(file) << id;
  const auto put = [&] {
    return ::mount(file.c_str(), "/proc/sys/kernel/random/boot_id", nullptr, MS_BIND, nullptr) == 0;
  };
  return in_own_mounts(put, body);
}

}  // namespace holdfast::tests
