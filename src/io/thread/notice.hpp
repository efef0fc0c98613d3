#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>

namespace holdfast::io {

/// Calls its function while it is armed, never during or after disarm(), except that the function
/// may disarm the notice it runs in.
///
/// Thread safety: every function, from any thread.
class notice {
 public:
  explicit notice(std::function<void()> notify) : notify_(std::move(notify)) {}

  /// Calls the function unless disarmed. The caller holds no mutex.
  void fire();

  /// After this, the function is not running and will not run, but for the one this call is made
  /// from.
  void disarm();

 private:
  const std::function<void()> notify_;
  std::mutex mutex_;
  std::condition_variable idle_;
  int running_{};
  bool disarmed_{};
};

}  // namespace holdfast::io
