#pragma once

#include "cli/command_line.hpp"
#include "cli/descriptor.hpp"
#include "cli/guardian_link.hpp"
#include "cli/or_exit.hpp"
#include "cli/report.hpp"
#include "cli/run_options.hpp"
#include "cli/settings.hpp"
#include "cli/start_state.hpp"
#include "cli/terminal.hpp"
#include "cli/waiting_line.hpp"

#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

namespace holdfast::cli {

class run_events;

/// What has to be open before a lock can be asked for; the session is closed first.
struct opening {
  store from;
  session in;
};

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
  struct not_opened {
    fault why;
    bool passes{};          ///< Trying again may help.
    bool needs_operator{};  ///< But not before a person has acted.
  };

  int open_and_run();
  or_exit<opening> open_in_time();
  bool may_open_again() const;
  std::variant<opening, not_opened> open_once();
  std::optional<fault> fault_of_needs(const store& st) const;
  int run_in(store& st, session& s, waiting_line& line);
  or_exit<lock> wait_for_lock(store& st, session& s, waiting_line& line);
  std::optional<int> end_of_wait(store* st, waiting_line* line);
  bool waits_for_itself(store& st);
  std::optional<bool> only_own_runs_hold(store& st);
  error with_advice(const error& e) const;
  int not_granted(session& s, const error& e);
  int refused(const error& e);
  bool is_fenced() const noexcept;
  result<void> admit_at_fence(const lock& held) const;
  void warn_of_no_fencing_token(const lock& held) const;
  int run_under(session& s, lock held);
  std::string why_lost(const session& s) const;
  int finish(session& s, lock held, const message& ended);
  void tell_unclosed(const std::string& url, const std::string& why);
  bool lease_fits(const lock& held);
  bool publish(const lock& held);
  std::vector<std::string> environment(const session& s, const lock& held) const;
  std::optional<message> supervise(const lock& held);
  void on_message(message m);
  void on_stopped(int signal);
  std::optional<int> next_signal();
  void forward_signals();
  enum class awake_for { everything, events };
  void poll_for(duration limit, awake_for what = awake_for::everything);
  int guardian_died(const std::string& how);

  const run_options& options_;
  const settings& settings_;
  const report& out_;
  std::string printable_;
  std::string unreleased_{};  ///< Why the lock was not released in the store, if that was said.
  start_state signals_;
  descriptor signal_fd_;
  terminal terminal_;
  std::optional<guardian_link> guardian_;
  std::shared_ptr<run_events> events_;
  duration ttl_{};
  duration grace_{};
  duration wait_left_{};  ///< For the lock, after what the store's opening took of it.
  pid_t command_{};
  int start_errno_{};
  time_point look_again_{};       ///< Where the store does not say: at the holders, not before.
  std::uint64_t looked_after_{};  ///< What times_notified() was when the holders were looked at.
  bool overdue_{};                ///< The guardian let the lease end.
  std::optional<message> ended_;
};

}  // namespace holdfast::cli
