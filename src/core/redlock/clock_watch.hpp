#pragma once

#include "core/redlock/node_record.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

namespace holdfast::core::redlock {

/// Compares one node's TIME with this host's BOOTTIME and finds steps. Pure.
///
/// A key lives by the node's wall clock: a forward step ends it early. A sample says that the node
/// read its clock somewhere between `sent` and `received`; two samples bound how far it can have
/// moved. More than elapsed * (1 + rho) + margin is a step forward, less than elapsed * (1 - rho) -
/// margin one back. A sample is compared with several earlier ones of the last `window` (max_ttl),
/// so that many small steps within one lease are found as well. A process that restarts goes on
/// with the same clock.
///
/// Thread safety: none; one owner.
class clock_watch {
 public:
  enum class verdict : std::uint8_t { steady, stepped_forward, stepped_back };

  explicit clock_watch(duration window) noexcept;

  verdict sample(server_time at, time_point sent, time_point received) noexcept;
  /// Leases may be longer than the window.
  void cover(duration lease) noexcept { window_ = std::max(window_, lease); }
  /// Somebody else saw a step and recorded it, after `since` and before `now`; the largest TIME of
  /// its scripts, that of the record among them, is `written`. It may stand still for long while
  /// TIME goes on. Only what steps from there on counts.
  void begin_anew(server_time written, time_point since, time_point now) noexcept;
  /// It is another server: nothing is known of its clock.
  void forget() noexcept { count_ = 0; }

 private:
  static constexpr std::size_t remembered = 8;
  struct reading {
    server_time at{};
    time_point sent{};
    time_point received{};
  };
  static verdict compare(const reading& old, const reading& r) noexcept;
  void keep(const reading& r) noexcept;

  duration window_;
  std::size_t count_{};
  std::array<reading, remembered> readings_{};  ///< The oldest first.
};

}  // namespace holdfast::core::redlock
