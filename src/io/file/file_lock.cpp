#include "io/file/file_lock.hpp"

#include "io/thread/futex.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

struct flock one_byte(short type, std::int64_t byte) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

void nap(duration time) noexcept {
  const std::uint32_t nobody_wakes_this = 0;
  (void)futex_wait(&nobody_wakes_this, 0, time);
}

}  // namespace

result<bool> try_lock_byte(int fd, std::int64_t byte, share how) {
  struct flock lock = one_byte(how == share::alone ? F_WRLCK : F_RDLCK, byte);
  if (::fcntl(fd, F_OFD_SETLK, &lock) == 0) return true;
  // Which of the two it is was left open: fcntl(2).
  if (errno == EAGAIN || errno == EACCES) return false;
  return error(errc::unavailable,
               "file locks do not work here: " + std::generic_category().message(errno));
}

result<bool> lock_byte(int fd, std::int64_t byte, share how, duration limit) {
  const time_point end = clock::now() + limit;
  for (duration pause = 500us;; pause = std::min<duration>(pause * 2, 10ms)) {
    auto got = try_lock_byte(fd, byte, how);
    if (!got || *got || clock::now() >= end) return got;
    nap(pause);
  }
}

void unlock_byte(int fd, std::int64_t byte) noexcept {
  struct flock lock = one_byte(F_UNLCK, byte);
  (void)::fcntl(fd, F_OFD_SETLK, &lock);
}

bool is_held_together(int fd, std::int64_t byte) noexcept {
  struct flock lock = one_byte(F_WRLCK, byte);
  // An exclusive lock conflicts with both kinds: the answer names the one that is in its way.
  return ::fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_RDLCK;
}

bool is_unlocked(int fd) noexcept {
  struct flock lock = one_byte(F_WRLCK, 0);
  // To the end of the file, however far it grows: fcntl(2).
  lock.l_len = 0;
  return ::fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

}  // namespace holdfast::io
