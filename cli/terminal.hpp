#pragma once

#include "cli/descriptor.hpp"

#include <sys/types.h>
#include <termios.h>

namespace holdfast::cli {

/// The controlling terminal, for handing the foreground to the command and taking it back. All
/// calls do nothing when there is none. SIGTTOU must be blocked; see tcsetpgrp(3).
class terminal {
 public:
  static terminal open();

  int fd() const noexcept { return fd_.get(); }
  /// Our own process group is in the foreground.
  bool ours() const noexcept;
  /// True when the command should start in the foreground: we are there, we read from a terminal,
  /// and we do not write into a pipe, whose reader (a pager) would lose the keyboard.
  bool should_give() const noexcept;
  void give(pid_t group) const noexcept;
  /// Back to our own group, if `group` has it.
  void take_back_from(pid_t group) const noexcept;
  /// The line settings as they were at open(): a killed editor cannot put them back itself.
  void restore_modes() const noexcept;

 private:
  descriptor fd_;
  termios modes_{};
  bool has_modes_{};
};

/// The terminal that `fd` is, opened again: writing there never waits, and whoever shares `fd`
/// finds that as it was. Empty where it cannot be opened, as another user's.
descriptor never_waiting(int fd);

/// Stops our own process group as Ctrl-Z would, and returns once it is continued, or at once where
/// nobody could ever continue it (an orphaned group; see setpgid(2)).
void stop_own_group() noexcept;

}  // namespace holdfast::cli
