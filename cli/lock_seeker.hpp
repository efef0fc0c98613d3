#pragma once

#include "cli/command_line.hpp"
#include "cli/or_exit.hpp"
#include "cli/report.hpp"
#include "cli/run_end.hpp"
#include "cli/run_options.hpp"
#include "cli/settings.hpp"

#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace holdfast::cli {

class guardian_link;
class run_events;
class waiting_line;
class wake_ups;

/// What has to be open before a lock can be asked for; the session is closed first.
struct opening {
  store from;
  session in;
};

/// The part of a run before its command: opens the store and waits for the lock, until a signal or
/// the guardian's end. What it is given has to stay there for as long as it lives.
class lock_seeker {
 public:
  lock_seeker(const run_options& options, const settings& s, const report& out,
              guardian_link& guardian, std::shared_ptr<run_events> events, wake_ups& awake);

  or_exit<opening> open();
  /// Of what open() gave. Says nothing yet: the request is withdrawn first, or it might be granted
  /// meanwhile.
  std::variant<lock, run_end> wait(store& st, session& s, waiting_line& line);
  /// That nothing was run for `e`.
  run_end not_granted(session& s, const error& e) const;

 private:
  struct not_opened {
    fault why;
    bool passes{};          ///< Trying again may help.
    bool needs_operator{};  ///< But not before a person has acted.
  };

  bool may_open_again() const;
  std::string told_again(const std::string& text, const std::string& said) const;
  std::variant<opening, not_opened> open_once();
  std::optional<fault> fault_of_needs(const store& st) const;
  std::optional<run_end> end_of_wait(store* st);
  std::optional<int> told_end_of_wait();
  bool waits_for_itself(store& st);
  std::optional<bool> only_own_runs_hold(store& st);
  error with_advice(const error& e) const;
  run_end refused(const error& e) const;

  const run_options& options_;
  const settings& settings_;
  const report& out_;
  guardian_link& guardian_;
  const std::shared_ptr<run_events> events_;
  wake_ups& awake_;
  const std::string printable_;
  duration wait_left_{};          ///< For the lock, after what the store's opening took of it.
  time_point look_again_{};       ///< Where the store does not say: at the holders, not before.
  std::uint64_t looked_after_{};  ///< What times_notified() was when the holders were looked at.
};

}  // namespace holdfast::cli
