#pragma once

#include <atomic>
#include <cstdint>

namespace holdfast::core {

/// A word that one blocked thread waits for. Whoever opens it stores `opened`, and when that
/// replaces `slept_on`, wakes the sleepers on the word (futex). Whoever sleeps replaces `closed`
/// by `slept_on` first.
struct parking {
  static constexpr std::uint32_t closed = 0;
  static constexpr std::uint32_t opened = 1;
  static constexpr std::uint32_t slept_on = 2;

  std::atomic<std::uint32_t> word{closed};

  bool is_open() const noexcept { return word.load(std::memory_order_acquire) == opened; }
  /// Before sleeping; false when it is open already.
  bool announce_sleep() noexcept {
    std::uint32_t was = closed;
    return word.compare_exchange_strong(was, slept_on) || was == slept_on;
  }
  /// After sleeping: whoever opens it need not wake anybody.
  void awake() noexcept {
    std::uint32_t was = slept_on;
    word.compare_exchange_strong(was, closed);
  }
};

}  // namespace holdfast::core
