#pragma once

#include "cli/command_line.hpp"
#include "cli/descriptor.hpp"
#include "cli/guardian_link.hpp"
#include "cli/lock_seeker.hpp"
#include "cli/report.hpp"
#include "cli/run_end.hpp"
#include "cli/run_options.hpp"
#include "cli/settings.hpp"
#include "cli/start_state.hpp"
#include "cli/terminal.hpp"
#include "cli/waiting_line.hpp"
#include "cli/wake_ups.hpp"

#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

#include <memory>
#include <optional>

namespace holdfast::cli {

class run_events;

/// The process that the user started: it owns the session, reads the signals and gives the
/// guardian its deadlines. One poll loop on the main thread; the library's threads only wake it.
class wrapper {
 public:
  wrapper(const run_options& options, const settings& s, const report& out);
  ~wrapper();

  /// Waits for the lock, runs the command under it, and gives the exit code of the program. On
  /// every way out nothing of the command is left and the lock is released or lost.
  int run();

 private:
  int open_and_run();
  run_end run_in(store& st, session& s, waiting_line& line);
  int say(const run_end& end, const std::string& url, const result<void>& closed) const;
  result<void> admit_at_fence(const lock& held) const;
  void warn_of_no_fencing_token(const lock& held) const;
  run_end run_under(session& s, lock held);
  std::string why_lost(const session& s) const;
  run_end finish(session& s, lock held, const message& ended);
  bool lease_fits(const lock& held);
  bool publish(const lock& held);
  std::vector<std::string> environment(const session& s, const lock& held) const;
  std::optional<message> supervise(const lock& held);
  void on_message(message m);
  void on_stopped(int signal);
  void forward_signals();
  run_end unended(session& s, bool all_gone);
  run_end not_begun();

  const run_options& options_;
  const settings& settings_;
  const report& out_;
  std::string printable_;
  std::string unreleased_{};  ///< Why the lock was not released in the store, if it was not.
  start_state signals_;
  descriptor signal_fd_;
  terminal terminal_;
  std::optional<guardian_link> guardian_;
  std::shared_ptr<run_events> events_;
  std::optional<wake_ups> awake_;
  std::optional<lock_seeker> seeker_;
  duration ttl_{};
  duration grace_{};
  pid_t command_{};
  int start_errno_{};
  bool overdue_{};  ///< The guardian let the lease end.
  std::optional<message> ended_;
};

}  // namespace holdfast::cli
