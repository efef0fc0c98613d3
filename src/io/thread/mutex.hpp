#pragma once

#include "io/thread/thread_safety.hpp"

#include <mutex>

namespace holdfast::io {

/// A std::mutex whose members clang can guard (io/thread/thread_safety.hpp). Held by a
/// `held_mutex`; a `condition` waits with it.
class HOLDFAST_MUTEX mutex {
 public:
  constexpr mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  ~mutex() = default;

  void lock() HOLDFAST_ACQUIRE() { plain_.lock(); }
  void unlock() noexcept HOLDFAST_RELEASE() { plain_.unlock(); }
  /// At the beginning of a lambda that is called where it is made, under this mutex: clang does not
  /// see that by itself, and takes our word.
  void held_by_caller() const noexcept HOLDFAST_ASSERTED() {}

 private:
  friend class condition;
  std::mutex plain_;
};

/// Holds a mutex from here to the end of the block, except between unlock() and lock().
template <class Mutex>
class HOLDFAST_SCOPED_MUTEX held_mutex {
 public:
  explicit held_mutex(Mutex& m) HOLDFAST_ACQUIRE(m) : mutex_(m) { m.lock(); }
  held_mutex(const held_mutex&) = delete;
  held_mutex& operator=(const held_mutex&) = delete;
  ~held_mutex() HOLDFAST_RELEASE() {
    if (holds_) mutex_.unlock();
  }

  void lock() HOLDFAST_ACQUIRE() {
    mutex_.lock();
    holds_ = true;
  }
  void unlock() noexcept HOLDFAST_RELEASE() {
    holds_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool holds_{true};  // The compiler follows it: where nobody calls unlock() it costs nothing.
};

}  // namespace holdfast::io
