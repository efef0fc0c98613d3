#include "cli/exit_on_signal.hpp"

#include "cli/exit_code.hpp"
#include "cli/start_state.hpp"

#include <unistd.h>

namespace holdfast::cli {

namespace {

constexpr long look_every = 50'000'000;  // Nanoseconds.
constexpr int looks = 4;

volatile std::sig_atomic_t seen = 0;

void look(int) {
  sigset_t pending;
  if (::sigpending(&pending) != 0) return;
  for (int s = 1; s < SIGRTMIN; ++s) {
    if (sigismember(&pending, s) != 1 || !ends_wait(s)) continue;
    seen = seen + 1;
    if (seen >= looks) ::_exit(exit_of_signal(s));
    return;
  }
}

}  // namespace

bool ends_wait(int signal) noexcept {
  const sigset_t watched = watched_signals();
  return sigismember(&watched, signal) == 1 && signal != SIGTSTP && signal != SIGCONT &&
         signal != SIGCHLD && signal != SIGWINCH;
}

exit_on_signal::exit_on_signal() noexcept {
  // Not SIGALRM: its one timer may be the caller's, from before the exec.
  const int number = SIGRTMIN;
  seen = 0;
  struct sigaction ours {};
  ours.sa_handler = look;
  ours.sa_flags = SA_RESTART;
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  ::sigaction(number, &ours, &before_);
  ::sigprocmask(SIG_UNBLOCK, &only, &mask_);
  struct sigevent how {};
  how.sigev_notify = SIGEV_SIGNAL;
  how.sigev_signo = number;
  // Without a timer a signal waits for the library, as it would without this.
  runs_ = ::timer_create(CLOCK_MONOTONIC, &how, &timer_) == 0;
  struct itimerspec often {};
  often.it_value.tv_nsec = look_every;
  often.it_interval = often.it_value;
  if (runs_) ::timer_settime(timer_, 0, &often, nullptr);
}

exit_on_signal::~exit_on_signal() {
  if (runs_) ::timer_delete(timer_);
  ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
  ::sigaction(SIGRTMIN, &before_, nullptr);
}

}  // namespace holdfast::cli
