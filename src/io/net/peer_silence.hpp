#pragma once

#include <holdfast/clock.hpp>

#include <algorithm>

namespace holdfast::io {

/// How long a peer has sent nothing although it owes answers: from the first of their deadlines
/// that passed since it was heard. A peer that owes nothing, or whose answers are not late yet, may
/// be silent for as long as it likes.
///
/// Thread safety: none; one owner.
class peer_silence {
 public:
  /// Longer than `most` is too long.
  explicit peer_silence(duration most) noexcept : most_(most) {}

  /// Something came.
  void heard() noexcept { since_ = time_point::max(); }
  /// The deadline of an answer passed, and it is `now`.
  void late(time_point now) noexcept { since_ = std::min(since_, now); }
  /// From when on it has lasted too long; the end of time: not because of what was late until now.
  time_point over_at() const noexcept {
    return since_ == time_point::max() ? since_ : since_ + most_;
  }
  /// When to look at what is due from `due` on. While the peer is silent that is later than asked
  /// for, by a share of how long it has been, and 2 ms at most: what was sent before anybody knew
  /// is due in thousands of single moments, each of which would interrupt those who are answered.
  time_point look_at(time_point due, time_point now) const noexcept {
    if (since_ == time_point::max()) return due;
    return std::max(due, now + std::min<duration>((now - since_) / late_share, late_most));
  }

 private:
  static constexpr int late_share = 16;
  static constexpr duration late_most = std::chrono::milliseconds(2);

  duration most_;
  time_point since_{time_point::max()};
};

}  // namespace holdfast::io
