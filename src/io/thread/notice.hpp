#pragma once

#include "io/thread/condition.hpp"

#include <functional>
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
  void fire() HOLDFAST_EXCLUDES(mutex_);

  /// After this, the function is not running and will not run, but for the one this call is made
  /// from.
  void disarm() HOLDFAST_EXCLUDES(mutex_);

 private:
  const std::function<void()> notify_;
  mutex mutex_;
  condition idle_;
  int running_ HOLDFAST_GUARDED_BY(mutex_){};
  bool disarmed_ HOLDFAST_GUARDED_BY(mutex_){};
};

}  // namespace holdfast::io
