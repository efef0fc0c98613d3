#pragma once

#include "core/parking.hpp"
#include "io/thread/running_here.hpp"

#include <asio/io_context.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

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
  void lend(core::parking& until) noexcept;
  /// After the context has been stopped.
  void stopped() noexcept;
  /// A word that a lent turn waits for has opened.
  void opened() noexcept override;
  /// Whether the calling thread runs the loop.
  bool is_here() const noexcept { return running_here == &context_; }

 private:
  bool begin_lent() noexcept;
  void end_lent() noexcept;
  void recall() noexcept;
  bool may_begin(std::unique_lock<std::mutex>& hold);

  asio::io_context& context_;
  std::atomic<int> blocked_{};  ///< Callers inside lend().
  std::atomic<bool> wanted_{};  ///< A caller waits for the own thread to give its turn up.

  std::mutex mutex_;  // Guards what is below.
  std::condition_variable changed_;
  bool own_{};
  bool lent_{};
  bool recalled_{};  ///< The own thread need not rest.
  bool asleep_{};    ///< The own thread waits for the end of a turn.
  int alone_{};      ///< Calls of a lone caller since a second one blocked.
  std::uint64_t lends_{};
  std::uint64_t seen_{};  ///< Of `lends_`, by the own thread.
};

}  // namespace holdfast::io
