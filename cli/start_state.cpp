#include "cli/start_state.hpp"

#include <initializer_list>

namespace holdfast::cli {

namespace {

// A signal that is ignored is kept by the kernel as soon as it is blocked.
bool is_ignored(int signal) noexcept {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

sigset_t watched_signals() noexcept {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP}) {
    if (!is_ignored(s)) sigaddset(&set, s);
  }
  for (const int s : {SIGCONT, SIGCHLD}) sigaddset(&set, s);
  return set;
}

start_state start_state::take_over_signals() noexcept {
  start_state found;
  found.child_signal_ignored = is_ignored(SIGCHLD);
  // An inherited SIG_IGN would make the kernel throw away exit statuses; see wait(2).
  ::signal(SIGCHLD, SIG_DFL);
  sigset_t blocked = watched_signals();
  // SIGPIPE and SIGXFSZ: the call that would send them fails all the same, and says why.
  for (const int s : {SIGPIPE, SIGXFSZ, SIGTTIN, SIGTTOU}) sigaddset(&blocked, s);
  ::sigprocmask(SIG_BLOCK, &blocked, &found.mask);
  return found;
}

void start_state::restore() const noexcept {
  if (child_signal_ignored) ::signal(SIGCHLD, SIG_IGN);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
}

}  // namespace holdfast::cli
