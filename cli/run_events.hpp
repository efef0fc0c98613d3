#pragma once

#include "cli/descriptor.hpp"
#include "cli/waiting_line.hpp"

#include <holdfast/lock.hpp>
#include <holdfast/observer.hpp>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli {

/// What the library's threads tell the wrapper's loop: they leave it here and wake the loop.
class run_events final : public observer {
 public:
  explicit run_events(waiting_line& line);

  using observer::on;
  void on(const event::waiting& e) noexcept override;
  void on(const event::beat&) noexcept override { wake(); }
  void on(const event::session_changed&) noexcept override { wake(); }
  void on(const event::lost& e) noexcept override;

  void acquired(result<lock> r);
  std::optional<result<lock>> take_acquired();

  /// Why the lock was lost; empty as long as nobody has said so.
  std::string why_lost();

  /// The oldest one in the way is a `run` below which this one was started, and which waits for us
  /// to end.
  bool waits_for_own_run();
  /// There are such runs, and the store does not say who is in the way.
  bool may_wait_for_own_run();
  /// True for the session of a `run` below which this one was started.
  bool is_own_run(const session_id& id) const;
  /// How often the store said who is in the way: while it is the same, nothing has changed there.
  std::uint64_t times_notified();
  /// Their sessions, the innermost first, separated by spaces.
  std::string own_runs() const;

  int fd() const noexcept { return wake_.get(); }
  void wake() noexcept;
  void drain() noexcept;
  /// The line is about to go; later events are not for it.
  void detach() noexcept;

 private:
  descriptor wake_;
  std::mutex mutex_;
  waiting_line* line_;
  std::optional<result<lock>> acquired_;
  std::vector<session_id> own_runs_;
  bool waits_for_own_run_{};
  bool names_nobody_{};
  std::uint64_t times_notified_{};
  std::string why_lost_;
};

}  // namespace holdfast::cli
