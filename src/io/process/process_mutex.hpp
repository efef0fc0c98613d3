#pragma once

#include "io/process/process_slot.hpp"

#include <holdfast/clock.hpp>

#include <atomic>
#include <cstdint>
#include <optional>

namespace holdfast::io {

/// A mutex between processes, in one 64-bit word that all of them map. Timed, and taken over from
/// an owner that is dead.
///
/// Word: bit 0 contended, bits 1-16 the owner's slot + 1 (zero: free), bits 17-63 an epoch that
/// grows with every unlock, so that a compare-and-swap never succeeds on a word that came back.
///
/// | word            | lock()                                       | unlock()           |
/// |-----------------|----------------------------------------------|--------------------|
/// | free            | mine                                         | -                  |
/// | owner lives     | contended, sleep a slice, look at its slot   | free, epoch + 1    |
/// | owner's slot    | mine, by compare with the word that was seen | -                  |
/// | is nobody's     |                                              |                    |
///
/// Not a robust pthread mutex: that one knows its owner by thread id, and two pid namespaces can
/// have the same one (docs/decisions/local-store.md). Death is never inferred from a pid.
///
/// Not recursive; threads of one process exclude each other too. Not fair.
///
/// Thread safety: lock() and unlock() from any thread; whoever locked it unlocks it.
class process_mutex {
 public:
  using word = std::atomic<std::uint64_t>;
  static_assert(word::is_always_lock_free);

  struct owner {
    unsigned slot{};
    pid_t pid{};  ///< Zero: not visible from this pid namespace.
  };

  /// Both must outlive it. Frees the word when it names our own slot: that owner is dead, or we
  /// could not have its slot.
  process_mutex(word& shared, const process_slot& mine) noexcept;

  /// Nothing when it is ours, else who kept it for the whole of `limit`.
  [[nodiscard]] std::optional<owner> lock(duration limit) noexcept;
  void unlock() noexcept;

  /// Who has it at this moment.
  std::optional<owner> holder() const noexcept;
  /// Grows with every unlock.
  std::uint64_t epoch() const noexcept;

 private:
  /// False: somebody has it. `flags`: with which bits it is taken.
  bool try_take(std::uint64_t flags) noexcept;
  /// `seen` is the word as it was before the wait: a holder that came since is not robbed.
  bool take_from_dead(std::uint64_t seen) noexcept;
  /// Pid zero: its process cannot be named from here.
  owner owner_of(std::uint64_t value) const noexcept;

  word& word_;
  const process_slot& mine_;
};

/// Unlocks at the end of a scope.
class process_mutex_guard {
 public:
  explicit process_mutex_guard(process_mutex& locked) noexcept : mutex_(&locked) {}
  process_mutex_guard(const process_mutex_guard&) = delete;
  process_mutex_guard& operator=(const process_mutex_guard&) = delete;
  ~process_mutex_guard() { mutex_->unlock(); }

 private:
  process_mutex* mutex_;
};

}  // namespace holdfast::io
