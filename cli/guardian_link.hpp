#pragma once

#include "cli/descriptor.hpp"
#include "cli/guardian.hpp"
#include "cli/guardian_channel.hpp"
#include "cli/lease_page.hpp"
#include "cli/process_tree.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli {

/// The wrapper's hold on its guardian.
///
/// Destroying it ends the guardian and everything below it, and waits until they are gone.
class guardian_link {
 public:
  /// Forks the guardian. Must be called while this process has one thread: the guardian goes on
  /// with a copy of it. Errors: `unavailable` (no memory, no processes left).
  static result<guardian_link> fork_guardian(guardian_setup setup);

  guardian_link(guardian_link&& other) noexcept;
  guardian_link& operator=(guardian_link&&) = delete;
  ~guardian_link();

  pid_t pid() const noexcept { return pid_; }
  int socket() const noexcept { return channel_.get(); }
  lease_page& page() noexcept { return lease_.page(); }

  /// Raises the deadlines; earlier ones change nothing.
  void raise(const deadlines& d) noexcept;
  time_point kill_at() noexcept;

  bool start(std::vector<std::string> environment, int life_descriptor, bool foreground);
  void forward(int signal);
  void proceed(bool foreground);
  void end_now();
  received receive();

  /// Looks whether the guardian has ended; one that was stopped is continued at once, for a
  /// stopped guardian guards nothing.
  bool is_gone();

  /// To be called now and then: while the guardian lives it gets the command's orphans, and whoever
  /// else is our child is a stranger, or was below one. Waits for those that have ended.
  void look_at_others();

  /// Ends the guardian, the command and everything below them, without the guardian's help: for
  /// one that was killed or hangs. Bounded by `patience`; false when something would not die.
  bool kill_everything(duration patience);

 private:
  guardian_link(pid_t pid, descriptor channel, lease_memory lease,
                std::vector<process_ref> strangers) noexcept;
  pid_t pid_;
  descriptor channel_;
  lease_memory lease_;
  /// Children that were there before us, and what became ours of theirs: not ours to kill.
  std::vector<process_ref> strangers_;
  bool reaped_{};
};

}  // namespace holdfast::cli
