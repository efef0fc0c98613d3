#pragma once

#include <signal.h>

namespace holdfast::cli {

/// How this process found its signals, so that the command gets them as they were: a HUP that nohup
/// ignores must stay ignored.
struct start_state {
  sigset_t mask{};
  bool child_signal_ignored{};

  /// Blocks what the wrapper reads from a signalfd, and what would stop or end it silently, before
  /// any thread exists: threads of the library inherit the mask.
  static start_state take_over_signals() noexcept;
  /// In a child, before exec.
  void restore() const noexcept;
};

/// The signals that the wrapper reads: those it forwards, SIGTSTP, SIGCONT and SIGCHLD. What was
/// ignored when this program began (nohup, a script's background job) stays ignored.
sigset_t watched_signals() noexcept;

}  // namespace holdfast::cli
