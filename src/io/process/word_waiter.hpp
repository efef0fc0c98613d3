#pragma once

#include "core/parking.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace holdfast::io {

/// A wake-up word that processes share: a counter, and who sleeps on it. Another build may ring it,
/// and asks only whether `asleep` is zero.
struct wake_word {
  std::atomic<std::uint32_t> count;
  std::atomic<std::uint32_t> asleep;
};

/// Who sleeps on a word: the waiter's own thread, or one that has its place. While that changes
/// hands both may be about to, so each has a bit of its own.
enum class sleeper : std::uint32_t { own = 1, lent = 2 };

/// Between the two ring() makes the system call. Whoever falls asleep looks at `count` once more.
void fall_asleep(wake_word& word, sleeper who) noexcept;
void wake_up(wake_word& word, sleeper who) noexcept;

/// Counts the word up and wakes its sleeper; a system call only when there is one.
void ring(wake_word& word) noexcept;

/// One thread that sleeps on a wake word and calls `rung` after each ring, once for many rings that
/// came together. All signals are blocked in it.
///
/// The destructor waits for a call of `rung` that is under way, unless it runs inside that call. So
/// does exit(), which ends the thread; who lends its place afterwards is served as before.
class word_waiter {
 public:
  /// `word` must outlive it. Throws std::system_error when no thread can be started.
  word_waiter(wake_word& word, std::function<void()> rung);
  word_waiter(const word_waiter&) = delete;
  word_waiter& operator=(const word_waiter&) = delete;
  ~word_waiter();

  /// The calling thread waits for `until` to open, and meanwhile takes the place of the waiter's
  /// own thread: it sleeps on the word and calls `rung`, so that what a ring brings about happens
  /// on the very thread that waits for it. `rung` is called once at the start. False, at once:
  /// another thread has the place, or the kernel cannot wait for two words.
  ///
  /// At the end `needed` tells whether the own thread has to take over again; else it goes on
  /// resting until resume().
  bool lend(core::parking& until, const std::function<bool()>& needed);
  /// The own thread serves again, unless another one has its place.
  void resume() noexcept;

 private:
  class state;
  std::shared_ptr<state> state_;
};

}  // namespace holdfast::io
