#include "io/thread/errand.hpp"

#include "io/thread/background.hpp"

#include <utility>

namespace holdfast::io {

void errand::ask() {
  {
    const held_mutex hold(mutex_);
    asked_ = true;
    if (std::exchange(running_, true)) return;
    began_ = std::chrono::steady_clock::now();
  }
  auto thread = start_thread("holdfast-errand", [self = shared_from_this()] { self->run(); });
  if (thread) return thread->detach();
  const held_mutex hold(mutex_);
  running_ = asked_ = false;
  ended_.notify_all();
}

void errand::run() {
  for (;;) {
    {
      const held_mutex hold(mutex_);
      if (!std::exchange(asked_, false)) {
        running_ = false;
        ended_.notify_all();
        return;
      }
      began_ = std::chrono::steady_clock::now();
    }
    work();
  }
}

void errand::wait(duration limit) {
  if (on_library_thread()) return;
  const held_mutex hold(mutex_);
  const auto until = began_ + limit;
  while (running_ && ended_.wait_until(mutex_, until)) {
  }
}

}  // namespace holdfast::io
