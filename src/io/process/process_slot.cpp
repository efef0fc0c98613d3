#include "io/process/process_slot.hpp"

#include <fcntl.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace holdfast::io {
namespace {

struct flock lock_on(unsigned slot) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = slot;
  lock.l_len = 1;
  return lock;
}

}  // namespace

result<process_slot> process_slot::take(unique_fd file) {
  for (unsigned n = 0; n < count; ++n) {
    struct flock lock = lock_on(n);
    if (::fcntl(file.get(), F_SETLK, &lock) == 0) return process_slot(std::move(file), n);
    if (errno != EAGAIN && errno != EACCES) {
      return error(errc::unavailable,
                   "record locks do not work here: " + std::generic_category().message(errno));
    }
  }
  return error(errc::unavailable, "all " + std::to_string(count) +
                                      " process slots are taken: too many processes have this "
                                      "store open at once");
}

process_slot::owner process_slot::look(unsigned n) const noexcept {
  // F_GETLK tells of no lock of one's own.
  if (n == number_) return {true, ::getpid()};
  struct flock lock = lock_on(n);
  // "Cannot tell" must never look like a proof of death.
  if (::fcntl(file_.get(), F_GETLK, &lock) != 0) return {true, 0};
  if (lock.l_type == F_UNLCK) return {false, 0};
  return {true, lock.l_pid > 0 ? lock.l_pid : 0};
}

}  // namespace holdfast::io
