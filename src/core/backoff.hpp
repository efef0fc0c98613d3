#pragma once

#include <holdfast/clock.hpp>

#include <cstdint>

namespace holdfast::core {

/// Growing, jittered pauses between tries. The randomness comes from the caller.
///
/// The n-th pause lies between half of and the whole of min(first * 2^n, most).
///
/// Thread safety: none; one owner.
class backoff {
 public:
  /// Both positive, first <= most.
  backoff(duration first, duration most) noexcept;

  /// The next pause, from 64 random bits.
  duration next(std::uint64_t random) noexcept;
  /// Starts again with the first pause.
  void reset() noexcept { step_ = 0; }
  duration most() const noexcept { return most_; }

 private:
  duration first_;
  duration most_;
  int step_{};
};

}  // namespace holdfast::core
