#pragma once

#include "core/ledger.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>

namespace holdfast::engines::memory {

/// One armed watch: calls its notify while it is armed, never during or after disarm(), except that
/// a notify may disarm the watch it runs in.
///
/// Thread safety: every function, from any thread.
class watcher {
 public:
  watcher(core::watch_request what, std::function<void()> notify)
      : what_(std::move(what)), notify_(std::move(notify)) {}

  /// True when one of the targets is gone.
  bool hit(const core::ledger& l) const;

  /// Calls notify unless disarmed. The caller holds no mutex.
  void fire();

  /// After this, notify is not running and will not run, but for the one this call is made from.
  void disarm();

 private:
  const core::watch_request what_;
  const std::function<void()> notify_;
  std::mutex mutex_;
  std::condition_variable idle_;
  int running_{};
  bool disarmed_{};
};

}  // namespace holdfast::engines::memory
