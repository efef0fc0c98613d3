#pragma once

#include <holdfast/error.hpp>

#include <signal.h>

#include <functional>
#include <thread>

namespace holdfast::io {

/// While it lives, threads that the calling one starts have all signals blocked, so that the
/// program's handlers run on the program's threads; but for those of a fault, which come to the
/// thread that made it, and end the process without the handler where they are blocked.
class signals_blocked {
 public:
  signals_blocked() noexcept;
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;
  ~signals_blocked();

 private:
  sigset_t before_;
};

/// Starts a thread of the library: with signals_blocked, and `name` (at most 15 bytes) shown by
/// debuggers.
/// Errors: `unavailable` when the system gives no thread.
result<std::thread> start_thread(const char* name, std::function<void()> body);

/// True on a thread that start_thread() has started, or while one of the program's does the same
/// work: it never waits for another one.
bool on_library_thread() noexcept;

/// While it lives the calling thread, one of the program's, does the library's work.
class library_work {
 public:
  library_work() noexcept;
  library_work(const library_work&) = delete;
  library_work& operator=(const library_work&) = delete;
  ~library_work();

 private:
  const bool was_;
};

}  // namespace holdfast::io
