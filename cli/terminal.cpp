#include "cli/terminal.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace holdfast::cli {

terminal terminal::open() {
  terminal t;
  t.fd_.reset(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (t.fd_) t.has_modes_ = ::tcgetattr(t.fd_.get(), &t.modes_) == 0;
  return t;
}

bool terminal::ours() const noexcept { return fd_ && ::tcgetpgrp(fd_.get()) == ::getpgrp(); }

bool terminal::should_give() const noexcept {
  if (!ours() || ::isatty(STDIN_FILENO) == 0) return false;
  struct stat out {};
  return ::fstat(STDOUT_FILENO, &out) != 0 || !S_ISFIFO(out.st_mode);
}

void terminal::give(pid_t group) const noexcept {
  if (fd_) ::tcsetpgrp(fd_.get(), group);
}

void terminal::take_back_from(pid_t group) const noexcept {
  if (fd_ && group > 0 && ::tcgetpgrp(fd_.get()) == group) ::tcsetpgrp(fd_.get(), ::getpgrp());
}

void terminal::restore_modes() const noexcept {
  if (has_modes_ && ours()) ::tcsetattr(fd_.get(), TCSADRAIN, &modes_);
}

descriptor never_waiting(int fd) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return descriptor(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

void stop_own_group() noexcept {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  ::kill(0, SIGTSTP);
  sigset_t before;
  ::pthread_sigmask(SIG_UNBLOCK, &stop, &before);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace holdfast::cli
