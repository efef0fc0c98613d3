#pragma once

#include "io/thread/condition.hpp"
#include "io/thread/mutex.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

namespace holdfast::io {

/// Whether a connection is up, as those see it who do not run it, and why not. Its owner closes it
/// once and for good: it comes up no more, and ends when what it owes is told.
///
///     down <-> up, and from both to closing -> ended
///
/// Thread safety: every function, from any thread.
class redis_standing {
 public:
  explicit redis_standing(error not_yet) : why_down_(std::move(not_yet)) {}

  bool is_up() const noexcept { return is_up_.load(); }
  /// Why it is down; nothing while it is up.
  std::optional<error> trouble() const;
  /// Why it is down, or was when it was down last.
  error why_down() const;
  /// How often it came up.
  std::uint64_t ups() const;

  /// False: it was closed.
  bool come_up();
  /// It was lost. One that was closed stays so, with its own reason.
  void go_down(const error& why);
  /// More is known of why it is down.
  void explain(const error& why);

  /// The owner closes it; false: it did before.
  bool close(error why);
  bool is_closed() const;
  /// It was up when it was closed.
  bool was_up() const;
  /// Nothing more happens to it.
  void end();
  /// Waits for that, no longer than `limit`.
  void await_end(duration limit);

 private:
  enum class phase : std::uint8_t { down, up, closing, ended };

  mutable mutex mutex_;
  condition has_ended_;
  phase phase_ HOLDFAST_GUARDED_BY(mutex_){phase::down};
  std::atomic<bool> is_up_{false};  ///< As phase_ says, for who only looks.
  bool was_up_ HOLDFAST_GUARDED_BY(mutex_){false};
  error why_down_ HOLDFAST_GUARDED_BY(mutex_);
  std::uint64_t ups_ HOLDFAST_GUARDED_BY(mutex_){0};
};

}  // namespace holdfast::io
