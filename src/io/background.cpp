#include "io/background.hpp"

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

result<std::thread> start_thread(const char* name, std::function<void()> body) {
  sigset_t all{};
  sigset_t before{};
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread started([run = std::move(body)] {
      is_ours = true;
      run();
    });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::pthread_setname_np(started.native_handle(), name);
    return started;
  } catch (const std::system_error& e) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return error(errc::unavailable,
                 std::string("cannot start a thread of the library: ") + e.what());
  }
}

}  // namespace holdfast::io
