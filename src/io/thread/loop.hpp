#pragma once

#include "core/parking.hpp"
#include "io/thread/running_here.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace holdfast::io {

template <class T>
class per_process;

/// One thread with timers on CLOCK_BOOTTIME and descriptors to wait for. Heartbeats, polls and
/// late completions run on it; whatever must not be delayed by I/O belongs to the alarm instead.
///
/// Destroying it drops what has not run and waits for what is running; on a thread of the library
/// it does not wait, and the loop ends after the running task. It is also stopped when the program
/// ends.
///
/// Thread safety: every function, from any thread.
class loop {
 public:
  using task = std::function<void()>;

  static result<std::shared_ptr<loop>> start();
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;
  ~loop();

  /// Runs `t` soon. Dropped when the loop has been stopped. What two threads post may run in either
  /// order, also where one of them knew that the other had posted: the loop's thread keeps what it
  /// posts to itself until the running task ends.
  void post(task t);
  /// Runs `t` now if this thread runs the loop, and else soon.
  template <class Task>
  void run(Task t) {
    on_thread() ? t() : post(std::move(t));
  }

  /// Runs `t` once, at `when` or a little later; time_point::max() never. The number is for
  /// cancel(), and never zero.
  std::uint64_t at(time_point when, task t);
  /// Forgets the task unless it runs already. Any number may be given.
  void cancel(std::uint64_t timer) noexcept;

  /// Takes over `fd` and runs `t` once when it can be read. The number is for forget().
  std::uint64_t when_readable(int fd, task t);
  /// Closes the descriptor, soon.
  void forget(std::uint64_t reading) noexcept;

  /// The calling thread waits until `until` opens, and may run what the loop would meanwhile; see
  /// io/thread/turn.hpp. False, at once: on a thread of the library.
  bool lend(core::parking& until) noexcept;
  /// The program's end has stopped it: nothing runs on it any more.
  bool over() const noexcept;
  /// Whether the calling thread runs the loop now.
  bool on_thread() const noexcept { return running_here == context_; }
  /// What the sockets of this folder run on; it lives as long as the loop.
  asio::io_context& context() noexcept;

 private:
  class state;
  struct left_over;
  static per_process<left_over> left_overs;
  explicit loop(std::shared_ptr<state> s) noexcept;
  std::shared_ptr<state> state_;
  const asio::io_context* const context_;
};

}  // namespace holdfast::io
