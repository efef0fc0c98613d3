#pragma once

#include "tests/temporary_directory.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
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

/// The code when the kernel has no time namespaces, they need root, or none got the number again.
inline constexpr int cannot_shift_time = 77;

/// The exit code of a child whose CLOCK_BOOTTIME is `seconds` ahead, in a namespace of its own.
inline int ahead_of_boot(int seconds, const std::function<int()>& body) {
  const pid_t maker = ::fork();
  if (maker == 0) {
    if (::unshare(CLONE_NEWTIME) != 0) ::_exit(cannot_shift_time);
    std::ofstream("/proc/self/timens_offsets") << "boottime " << seconds << " 0\n";
    const pid_t child = ::fork();  // It is the children's namespace.
    if (child == 0) ::_exit(body());
    int status = 0;
    ::waitpid(child, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  int status = 0;
  ::waitpid(maker, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/// `first` and then `second` in time namespaces of different offsets, of which the second has the
/// inode number of the first, which has ended: the exit code of the first that is not zero.
inline int in_a_reused_namespace(const std::function<int()>& first,
                                 const std::function<int()>& second) {
  const auto number = [] {
    struct stat s {};
    return ::stat("/proc/self/ns/time", &s) == 0 ? s.st_ino : 0;
  };
  int back[2];
  if (::pipe(back) != 0) return cannot_shift_time;
  ino_t was = 0;
  const auto tell = [&] {
    const ino_t own = number();
    return ::write(back[1], &own, sizeof own) == sizeof own ? first() : 1;
  };
  int code = ahead_of_boot(1000, tell);
  if (code == 0 && ::read(back[0], &was, sizeof was) != sizeof was) code = 1;
  constexpr int another_number = 78;
  for (int tries = 0; code == 0 || code == another_number; ++tries) {
    if (tries == 200) {
      code = cannot_shift_time;
      break;
    }
    code = ahead_of_boot(2000, [&] { return number() == was ? second() : another_number; });
    if (code == 0) break;
  }
  ::close(back[0]);
  ::close(back[1]);
  return code;
}

}  // namespace holdfast::tests
