#pragma once

#include "io/thread/mutex.hpp"

#include <holdfast/token.hpp>

#include <map>
#include <string>

namespace holdfast::engines::redlock {

/// With which token each lock was shown. A node that lost its state gets a lock back with a counter
/// that may be above the lock's token, and once most have, no node shows which it was: what was
/// shown first stays, so that no leader seems to begin a new term because a node restarted.
///
/// Thread safety: every function, from any thread.
class shown_tokens {
 public:
  using by_value = std::map<std::string, token>;  ///< A value belongs to one grant of one lock.

  /// What to show of a lock for which the nodes tell `now`.
  token of(const std::string& value, token now) const;
  /// A picture has been put together, and these are all that is held.
  void replace(by_value shown);

 private:
  mutable io::mutex mutex_;
  by_value shown_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::engines::redlock
