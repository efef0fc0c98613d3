#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast::io {

/// How many commands were sent on a connection, and how many of them need no answer any more.
///
/// Thread safety: the loop's thread alone calls sent_here() and done(), and one at a time
/// sent_elsewhere(); the rest from any thread.
class command_counts {
 public:
  void sent_here() noexcept { add(here_, 1); }
  void sent_elsewhere() noexcept { add(elsewhere_, 1); }
  void done(std::size_t more) noexcept { add(done_, more); }

  std::uint64_t sent() const noexcept {
    return here_.load(std::memory_order_relaxed) + elsewhere_.load(std::memory_order_relaxed);
  }
  std::size_t unanswered() const noexcept {
    // First: what is done was sent before, and others may read while the loop's thread goes on.
    const auto done = done_.load(std::memory_order_acquire);
    return static_cast<std::size_t>(sent() - done);
  }

 private:
  // For a number that one thread writes at a time: a locked instruction would wait for all that was
  // stored before it.
  static void add(std::atomic<std::uint64_t>& number, std::size_t more) noexcept {
    number.store(number.load(std::memory_order_relaxed) + more, std::memory_order_release);
  }

  std::atomic<std::uint64_t> here_{0};
  std::atomic<std::uint64_t> elsewhere_{0};
  std::atomic<std::uint64_t> done_{0};
};

}  // namespace holdfast::io
