#pragma once

#include "io/thread/condition.hpp"
#include "io/thread/mutex.hpp"

#include <holdfast/clock.hpp>

#include <chrono>
#include <cstdint>
#include <memory>

namespace holdfast::io {

/// Work that may hang, as that with a disk does: on a thread of its own while there is any, so that
/// it holds up nobody but those who wait for it, and them within a limit.
///
/// It is done once at a time. For all who ask meanwhile it is done once more.
///
/// Thread safety: every function, from any thread.
class errand : public std::enable_shared_from_this<errand> {
 public:
  errand() = default;
  errand(const errand&) = delete;
  errand& operator=(const errand&) = delete;
  virtual ~errand() = default;

  /// Has it done soon. Where the system gives no thread it is not done until somebody asks again.
  void ask() HOLDFAST_EXCLUDES(mutex_);
  /// Waits until all that was asked for by now is done, or until what is under way has taken
  /// `limit`: one that hangs for an hour does not hold up each who waits anew. Not on a thread of
  /// the library: there it returns at once.
  void wait(duration limit) HOLDFAST_EXCLUDES(mutex_);

 private:
  /// On the thread, which owns this object meanwhile: a disk may hang for longer than anybody else
  /// is there.
  virtual void work() = 0;
  void run() HOLDFAST_EXCLUDES(mutex_);

  mutex mutex_;  // Never held while the work is done.
  condition news_;
  std::uint64_t asked_ HOLDFAST_GUARDED_BY(mutex_){};  ///< How often.
  std::uint64_t done_ HOLDFAST_GUARDED_BY(mutex_){};   ///< So many of those are.
  bool running_ HOLDFAST_GUARDED_BY(mutex_){};
  std::chrono::steady_clock::time_point began_ HOLDFAST_GUARDED_BY(mutex_){};
};

}  // namespace holdfast::io
