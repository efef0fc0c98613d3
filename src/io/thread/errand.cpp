#include "io/thread/errand.hpp"

#include "io/thread/background.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::io {

void errand::ask() {
  {
    const held_mutex hold(mutex_);
    ++asked_;
    if (std::exchange(running_, true)) return;
    began_ = std::chrono::steady_clock::now();
  }
  auto thread = start_thread("holdfast-errand", [self = shared_from_this()] { self->run(); });
  if (thread) return thread->detach();
  const held_mutex hold(mutex_);
  running_ = false;
  done_ = asked_;
  news_.notify_all();
}

void errand::run() {
  std::uint64_t begun = 0;
  for (;;) {
    {
      const held_mutex hold(mutex_);
      done_ = std::max(done_, begun);
      news_.notify_all();
      if (done_ == asked_) {
        running_ = false;
        return;
      }
      begun = asked_;
      began_ = std::chrono::steady_clock::now();
    }
    work();
  }
}

void errand::wait(duration limit) {
  if (on_library_thread()) return;
  const held_mutex hold(mutex_);
  // Not what others ask for meanwhile: there may be no end of that.
  const std::uint64_t mine = asked_;
  const auto until = began_ + limit;
  while (done_ < mine && news_.wait_until(mutex_, until)) {
  }
}

}  // namespace holdfast::io
