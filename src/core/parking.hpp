#pragma once

#include <atomic>
#include <cstdint>

namespace holdfast::core {

/// A word that one blocked thread waits for. Whoever opens it stores `opened`, and when that
/// replaces `slept_on`, wakes the sleepers on the word (futex); when it replaces `elsewhere`, it
/// tells `where`. Whoever sleeps replaces `closed` by one of these two first.
struct parking {
  static constexpr std::uint32_t closed = 0;
  static constexpr std::uint32_t opened = 1;
  static constexpr std::uint32_t slept_on = 2;
  static constexpr std::uint32_t elsewhere = 3;

  /// What a thread sleeps in that does not sleep on the word; it lives for as long as the word.
  class place {
   public:
    place() = default;
    place(const place&) = delete;
    place& operator=(const place&) = delete;
    /// The word is open: whoever sleeps here has to look. From any thread.
    virtual void opened() noexcept = 0;

   protected:
    ~place() = default;
  };

  std::atomic<std::uint32_t> word{closed};
  place* where{};  ///< Set before the word says `elsewhere`.

  bool is_open() const noexcept { return word.load(std::memory_order_acquire) == opened; }
  /// Before sleeping; false when it is open already.
  bool announce_sleep() noexcept {
    std::uint32_t was = closed;
    return word.compare_exchange_strong(was, slept_on) || was == slept_on;
  }
  /// The same for a thread that sleeps in `p`.
  bool announce_sleep_in(place& p) noexcept {
    where = &p;
    std::uint32_t was = closed;
    return word.compare_exchange_strong(was, elsewhere);
  }
  /// After sleeping: whoever opens it need not wake anybody.
  void awake() noexcept {
    std::uint32_t was = word.load();
    while (was != opened && !word.compare_exchange_weak(was, closed)) {
    }
  }
};

}  // namespace holdfast::core
