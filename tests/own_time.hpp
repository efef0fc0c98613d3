#pragma once

#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

namespace holdfast::tests {

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
