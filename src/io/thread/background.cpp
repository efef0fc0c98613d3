#include "io/thread/background.hpp"

#include <pthread.h>
#include <signal.h>

#include <string>
#include <system_error>
#include <utility>

namespace holdfast::io {

namespace {

thread_local bool is_ours = false;

}  // namespace

bool on_library_thread() noexcept { return is_ours; }

library_work::library_work() noexcept : was_(std::exchange(is_ours, true)) {}
library_work::~library_work() { is_ours = was_; }

// abort(3) unblocks its own.
signals_blocked::signals_blocked() noexcept {
  sigset_t all;
  sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
    sigdelset(&all, fault);
  }
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

signals_blocked::~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

result<std::thread> start_thread(const char* name, std::function<void()> body) {
  try {
    const signals_blocked meanwhile;
    std::thread started([run = std::move(body)] {
      is_ours = true;
      run();
    });
    ::pthread_setname_np(started.native_handle(), name);
    return started;
  } catch (const std::system_error& e) {
    return error(errc::unavailable,
                 std::string("cannot start a thread of the library: ") + e.what());
  }
}

}  // namespace holdfast::io
