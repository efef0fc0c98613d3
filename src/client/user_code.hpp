#pragma once

#include "core/assert.hpp"
#include "io/process/fork_mark.hpp"
#include "io/thread/background.hpp"

#include <cstdint>

namespace holdfast::client {

/// While it lives, a function of the user's runs on this thread: a completion, an observer, or what
/// hears of a loss. No completion of another call may run inside it, for it may hold a mutex that
/// the completion takes.
///
/// A child that it forks may not come back on a thread of the library: there it would go on with
/// its parent's sockets and timers, take the answers to its parent's requests, and let others
/// answer those that follow.
///
/// Thread safety: none; it lives and dies in one thread.
class user_code {
 public:
  user_code() noexcept { ++depth; }
  user_code(const user_code&) = delete;
  user_code& operator=(const user_code&) = delete;
  ~user_code() {
    if (--depth > 0 || !io::on_library_thread() || io::process_generation() == generation_) return;
    core::fail(
        "the child of a fork has returned from a function that a thread of the library called; "
        "exec or _exit there. This ends the child, and its parent goes on");
  }

  static bool runs_here() noexcept { return depth > 0; }

 private:
  inline static thread_local int depth = 0;

  const std::uint64_t generation_{io::process_generation()};
};

}  // namespace holdfast::client
