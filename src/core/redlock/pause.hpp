#pragma once

#include "core/backoff.hpp"

#include <cstdint>
#include <optional>

namespace holdfast::core::redlock {

/// How long to stay away from a contended lock after a failed round. Pure.
///
/// Two contenders that split the votes of a round must not split the next: the pause is random, and
/// its lower bound is several times the measured round, so that one of them has a round to itself
/// (redis.io, Distributed Locks with Redis, "Retry on Failure"). It doubles with each failure up to
/// a limit. When a node says how long the holder's key lives, the poll is no later than that plus
/// one lower bound of jitter: a notification is only a hint.
///
/// Thread safety: none; one owner.
class pause {
 public:
  struct config {
    duration round{std::chrono::milliseconds{1}};  ///< Assumed until one was measured.
    duration most{std::chrono::seconds{1}};
    /// Between looks while the nodes notify of releases: for those of which nobody does.
    duration poll_while_notified{std::chrono::milliseconds{25}};
  };

  explicit pause(config c) noexcept;

  /// A round took `took` from send to decision; the largest of the recent ones counts.
  void measured(duration took) noexcept;
  /// The next pause, from 64 random bits.
  duration next(std::uint64_t random, std::optional<duration> holder_left = {}) noexcept;
  /// The pause after a first failure, without one.
  duration first(std::uint64_t random) const noexcept { return growth_at(0, random); }
  /// next() while the nodes notify of releases, as far as they know of them: other programs notify
  /// nobody, and a message may be lost.
  duration next_while_notified(std::uint64_t random,
                               std::optional<duration> holder_left = {}) noexcept;
  /// After a notification: a short random step back, so that the waiters do not all ask at once.
  duration after_notification(std::uint64_t random) const noexcept;
  /// The lock was free or held by us: the next failure starts with the first pause.
  void reset() noexcept { failures_ = 0; }

 private:
  static constexpr int failures_max = 30;
  backoff growth() const noexcept;
  duration growth_at(int failures, std::uint64_t random) const noexcept;
  duration cut(duration d, std::uint64_t random,
               std::optional<duration> holder_left) const noexcept;

  config config_;
  duration round_;
  int failures_{};
};

}  // namespace holdfast::core::redlock
