#pragma once

#include "core/assert.hpp"
#include "io/thread/loop.hpp"
#include "io/thread/mutex.hpp"

namespace holdfast::io {

/// A mutex that costs nothing where no second thread can come: what is made on a turn of a loop may
/// be confined to its turns, which one thread runs at a time (io/thread/turn.hpp). A thousand locks
/// that one thread takes would pay for a dozen mutexes each.
///
/// | made                | lock()               | who may come                               |
/// |---------------------|----------------------|--------------------------------------------|
/// | on a turn of `of`   | nothing              | turns of `of`; others post to it           |
/// | elsewhere           | as io::mutex         | every thread                               |
///
/// Thread safety: as the table says.
class HOLDFAST_MUTEX turn_mutex {
 public:
  explicit turn_mutex(loop& of) noexcept : loop_(of), confined_(of.on_thread()) {}
  turn_mutex(const turn_mutex&) = delete;
  turn_mutex& operator=(const turn_mutex&) = delete;
  ~turn_mutex() = default;

  /// Whether the calling thread may not lock it: it posts to the loop what it wants.
  bool keeps_out() const noexcept { return confined_ && !loop_.on_thread(); }

  void lock() HOLDFAST_ACQUIRE() {
    if (!confined_) return mutex_.lock();
    HOLDFAST_ASSERT(loop_.on_thread());
  }
  void unlock() HOLDFAST_RELEASE() {
    if (!confined_) mutex_.unlock();
  }
  /// As of a mutex.
  void held_by_caller() const noexcept HOLDFAST_ASSERTED() {}

 private:
  loop& loop_;
  const bool confined_;
  mutex mutex_;
};

}  // namespace holdfast::io
