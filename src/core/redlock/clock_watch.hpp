#pragma once

#include "core/redlock/node_record.hpp"

#include <cstdint>
#include <optional>

namespace holdfast::core::redlock {

/// Compares one node's TIME with this host's BOOTTIME and finds steps. Pure.
///
/// A key lives by the node's wall clock: a forward step ends it early. A sample says that the node
/// read its clock somewhere between `sent` and `received`; two samples bound how far it can have
/// moved. More than elapsed * (1 + rho) + margin is a step forward, less than elapsed * (1 - rho) -
/// margin one back.
///
/// A sample is compared with every one since the first, or since the last step: with the newest,
/// which tells a small step at once, and with all before, so that many that are smaller add up
/// within whatever time a lease lasts. Two numbers are enough for that: of all samples only one
/// bounds a later one most. A process that restarts goes on with the same clock.
///
/// Thread safety: none; one owner.
class clock_watch {
 public:
  enum class verdict : std::uint8_t { steady, stepped_forward, stepped_back };

  verdict sample(server_time at, time_point sent, time_point received) noexcept;
  /// Somebody else saw a step and recorded it, after `since` and before `now`; the largest TIME of
  /// its scripts, that of the record among them, is `written`. It may stand still for long while
  /// TIME goes on. Only what steps from there on counts.
  void begin_anew(server_time written, time_point since, time_point now) noexcept;
  /// It is another server: nothing is known of its clock.
  void forget() noexcept { origin_.reset(); }

 private:
  struct reading {
    server_time at{};
    time_point sent{};
    time_point received{};
  };
  void begin(const reading& r) noexcept;
  duration if_fast(server_time at, time_point then) const noexcept;
  duration if_slow(server_time at, time_point then) const noexcept;

  std::optional<reading> origin_;  ///< What all else is counted from.
  time_point asked_{};             ///< When the newest was sent.
  duration ahead_{};   ///< The least that any is ahead of the fastest clock that is no step.
  duration behind_{};  ///< The most that any is ahead of the slowest one.
};

}  // namespace holdfast::core::redlock
