#include "io/process/process_watch.hpp"

#include "io/process/per_process.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

namespace holdfast::io {

namespace {

constinit per_process<std::atomic<int>> armed_now;

}  // namespace

process_watch::armed process_watch::arm(std::shared_ptr<loop> on, std::int64_t pid,
                                        std::function<void()> ended) {
  disarm();
  auto& count = armed_now.get();
  if (count.fetch_add(1) >= most) {
    --count;
    return armed::cannot;
  }
  const auto fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));  // Always close-on-exec.
  if (fd < 0) {
    const auto failed = errno == ESRCH ? armed::no_such_process : armed::cannot;
    --count;
    return failed;
  }
  loop_ = std::move(on);
  reading_ = loop_->when_readable(fd, std::move(ended));
  return armed::yes;
}

void process_watch::disarm() noexcept {
  if (!loop_) return;
  loop_->forget(reading_);
  loop_.reset();
  --armed_now.get();
}

}  // namespace holdfast::io
