#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace holdfast::io {

/// A wake-up word that processes share: a counter, and whether somebody sleeps on it.
struct wake_word {
  std::atomic<std::uint32_t> count;
  std::atomic<std::uint32_t> asleep;
};

/// Counts the word up and wakes its sleeper; a system call only when there is one.
void ring(wake_word& word) noexcept;

/// One thread that sleeps on a wake word and calls `rung` after each ring, once for many rings that
/// came together. All signals are blocked in it.
///
/// The destructor waits for a call of `rung` that is under way, unless it runs inside that call.
class word_waiter {
 public:
  /// `word` must outlive it.
  word_waiter(wake_word& word, std::function<void()> rung);
  word_waiter(const word_waiter&) = delete;
  word_waiter& operator=(const word_waiter&) = delete;
  ~word_waiter();

  /// Gives the thread up without touching it: for a forked child, where it does not exist.
  void abandon() noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace holdfast::io
