#pragma once

#include "core/rules.hpp"

#include <holdfast/clock.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace holdfast::core {

/// The drift that is tolerated between two machines' clocks: rho = 1/100.
inline constexpr std::int64_t rho_divisor = 100;
/// Taken off every lease and added to every takeover, for rounding and scheduling.
inline constexpr duration margin = std::chrono::milliseconds{2};

inline constexpr duration ttl_min = std::chrono::milliseconds{100};
inline constexpr duration ttl_max = std::chrono::hours{1};
inline constexpr duration ttl_default = std::chrono::seconds{30};

/// What a holder may use of a ttl, counted from the moment its attempt was sent.
inline duration usable(duration ttl) noexcept {
  return active.subtract_drift ? ttl - ttl / rho_divisor - margin : ttl;
}

/// How long a successor must have seen one unchanged version, counted from what it received.
constexpr duration takeover_after(duration ttl) noexcept {
  return ttl + ttl / rho_divisor + margin;
}

/// How often a waiter reads the session that it waits for: so late, at most, it begins to count.
constexpr duration look_every(duration ttl) noexcept {
  return std::clamp<duration>(ttl / 4, std::chrono::milliseconds{250}, std::chrono::seconds{4});
}

/// When the locks of a session that stopped are the next one's, at the latest, where others have to
/// look on until then: from its last heartbeat, or from a denial.
constexpr duration free_after(duration ttl) noexcept {
  return look_every(ttl) + takeover_after(ttl);
}

/// One session's deadline: the only thing a check() reads.
///
/// |        | extend(u, now), now < deadline | extend, too late | expire(now) if passed | lose() |
/// |--------|--------------------------------|------------------|------------------------|--------|
/// | held   | held, deadline = max(old, u)   | lost             | lost                   | lost   |
/// | lost   | lost                           | lost             | lost                   | lost   |
///
/// shorten(u) makes the deadline min(old, u) and leaves lost lost.
///
/// Lost is final. Thread safety: every function, from any thread, without a mutex.
class lease {
 public:
  lease() = default;
  explicit lease(time_point until) noexcept { start(until); }

  /// Begins a lease; once, before anybody else can see the object.
  void start(time_point until) noexcept;

  /// Compare-and-swap old -> max(old, until), only while now < old. False when it is lost.
  bool extend(time_point until, time_point now) noexcept;

  /// Compare-and-swap old -> min(old, until): a node that was counted does not protect any more.
  void shorten(time_point until) noexcept;

  /// True while at least `needed` is left. Finding the deadline passed makes it lost.
  bool check(duration needed, time_point now) noexcept;

  /// Makes it lost when the deadline has passed; true for the one caller that did.
  bool expire(time_point now) noexcept;

  /// Makes it lost whatever the deadline; true for the one caller that did.
  bool lose() noexcept;

  bool is_lost() const noexcept { return until_.load(std::memory_order_acquire) == lost; }
  duration remaining(time_point now) const noexcept;
  /// The deadline; time_point::min() once lost.
  time_point until() const noexcept;

 private:
  static constexpr std::int64_t lost = INT64_MIN;
  std::atomic<std::int64_t> until_{lost};
};

}  // namespace holdfast::core
