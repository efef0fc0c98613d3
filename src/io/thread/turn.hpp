#pragma once

#include "core/parking.hpp"
#include "io/thread/condition.hpp"
#include "io/thread/running_here.hpp"

#include <asio/io_context.hpp>

#include <atomic>
#include <cstdint>

namespace holdfast::io {

/// Whose thread runs a loop: its own, or that of a caller who would only sleep until the loop wakes
/// it. One that calls again and again pays no switch between two threads for each answer.
///
/// | turn    | who runs the loop     | until                                                      |
/// |---------|-----------------------|------------------------------------------------------------|
/// | own     | the loop's own thread | a caller that was alone for a few calls blocks again       |
/// | lent    | the caller            | its word opens, or a second caller blocks                  |
/// | resting | nobody                | the caller is back; a second one blocks; a millisecond     |
///
/// Two callers at a time never share a turn: the own thread serves them all.
///
/// Thread safety: every function, from any thread.
class turn final : public core::parking::place {
 public:
  explicit turn(asio::io_context& of) noexcept : context_(of) {}

  /// The own thread's whole life; returns when the context has been stopped.
  void run_own() noexcept;
  /// Waits until `until` opens. Not on a thread of the library.
  void lend(core::parking& until) noexcept HOLDFAST_EXCLUDES(mutex_);
  /// After the context has been stopped.
  void stopped() noexcept;
  /// A word that a lent turn waits for has opened.
  void opened() noexcept override;
  /// Whether the calling thread runs the loop.
  bool is_here() const noexcept { return running_here == &context_; }

 private:
  /// For the one caller that blocks. False: it sleeps, and the own thread serves it.
  bool begin_lent() noexcept;
  /// Ends the turn. The own thread goes on at once only if a second caller blocks.
  void end_lent() noexcept;
  /// A second caller blocks: one thread serves both, and that is the own one.
  void recall() noexcept;
  bool may_begin() HOLDFAST_REQUIRES(mutex_);

  asio::io_context& context_;
  std::atomic<int> blocked_{};  ///< Callers inside lend().
  std::atomic<bool> wanted_{};  ///< A caller waits for the own thread to give its turn up.

  mutex mutex_;
  condition changed_;
  bool own_ HOLDFAST_GUARDED_BY(mutex_){};
  bool lent_ HOLDFAST_GUARDED_BY(mutex_){};
  bool recalled_ HOLDFAST_GUARDED_BY(mutex_){};  ///< The own thread need not rest.
  bool asleep_ HOLDFAST_GUARDED_BY(mutex_){};    ///< The own thread waits for the end of a turn.
  int alone_ HOLDFAST_GUARDED_BY(mutex_){};  ///< Calls of a lone caller since a second one blocked.
  std::uint64_t lends_ HOLDFAST_GUARDED_BY(mutex_){};
  std::uint64_t seen_ HOLDFAST_GUARDED_BY(mutex_){};  ///< Of `lends_`, by the own thread.
};

}  // namespace holdfast::io
