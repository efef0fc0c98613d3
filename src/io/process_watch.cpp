#include "io/process_watch.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace holdfast::io {

process_watch::armed process_watch::arm(std::shared_ptr<loop> on, std::int64_t pid,
                                        std::function<void()> ended) {
  disarm();
  const auto fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));  // Always close-on-exec.
  if (fd < 0) return errno == ESRCH ? armed::no_such_process : armed::cannot;
  loop_ = std::move(on);
  reading_ = loop_->when_readable(fd, std::move(ended));
  return armed::yes;
}

void process_watch::disarm() noexcept {
  if (loop_) loop_->forget(reading_);
  loop_.reset();
}

}  // namespace holdfast::io
