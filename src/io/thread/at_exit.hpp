#pragma once

#include <memory>

namespace holdfast::io {

/// Something with a thread that has to end before the program's static objects are gone.
class stoppable {
 public:
  stoppable() = default;
  stoppable(const stoppable&) = delete;
  stoppable& operator=(const stoppable&) = delete;
  virtual ~stoppable() = default;
  /// Ends the thread and waits for it, and so for a callback that it runs. Called at most once by
  /// at_exit; may be called by others too.
  virtual void stop() noexcept = 0;
};

/// Calls `what->stop()` when the program ends, if it still exists, the latest one first. In a
/// forked child nothing inherited is stopped: its threads are not there.
void stop_at_exit(std::weak_ptr<stoppable> what);

}  // namespace holdfast::io
