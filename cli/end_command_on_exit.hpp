#pragma once

#include "cli/guardian_link.hpp"

#include <holdfast/clock.hpp>

#include <functional>

namespace holdfast::cli {

/// Ends what the guardian runs, as for a lost lease, when it is destroyed before done(): by an
/// exception. To be declared behind the lock that the command runs under, which is so given back
/// only once nothing of the command is left, or it is lost.
///
/// Where that itself fails (no memory) the program ends and gives nothing back: the guardian then
/// kills at once, and the lock ends with its ttl.
class end_command_on_exit {
 public:
  /// `grace`: SIGTERM to SIGKILL. `held`: whether the lock still is.
  end_command_on_exit(guardian_link& guardian, duration grace, std::function<bool()> held)
      : guardian_(guardian), grace_(grace), held_(std::move(held)) {}
  end_command_on_exit(const end_command_on_exit&) = delete;
  end_command_on_exit& operator=(const end_command_on_exit&) = delete;
  ~end_command_on_exit();

  /// Nothing of the command is left, or it is known that this cannot be had.
  void done() noexcept { done_ = true; }

 private:
  guardian_link& guardian_;
  duration grace_;
  std::function<bool()> held_;
  bool done_{};
};

}  // namespace holdfast::cli
