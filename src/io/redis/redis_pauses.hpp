#pragma once

#include "core/backoff.hpp"

#include <holdfast/clock.hpp>

#include <cstdint>

namespace holdfast::io {

/// For how long a connection waits before it is made again. Of the tries that fail in a row each is
/// followed by a longer pause; behind a connection that was up it is short, and grows only while
/// none of them lasts.
///
/// Thread safety: none; one owner.
class redis_pauses {
 public:
  /// The longest pauses, and how long one has to be up to count as one that lasts.
  struct limits {
    duration first{};
    duration most{};
    duration after_up_most{};
    duration lasting{};
  };

  explicit redis_pauses(const limits& l) noexcept
      : after_failure_(l.first, l.most), after_up_(l.first, l.after_up_most), lasting_(l.lasting) {}

  /// It is up.
  void came_up(time_point now) noexcept { up_since_ = now; }

  /// It was lost, or did not come up: the pause that follows, from 64 random bits.
  duration next(time_point now, std::uint64_t random) noexcept {
    const bool was_up = up_since_ != time_point::max();
    if (!was_up) return after_failure_.next(random);
    after_failure_.reset();
    // Else each that is lost as soon as it is up would be followed by one more handshake at once.
    if (now - up_since_ >= lasting_) after_up_.reset();
    up_since_ = time_point::max();
    return after_up_.next(random);
  }

 private:
  core::backoff after_failure_;
  core::backoff after_up_;
  const duration lasting_;
  time_point up_since_{time_point::max()};
};

}  // namespace holdfast::io
