#pragma once

namespace holdfast::client {

/// While it lives, a function of the user's runs on this thread: a completion, an observer, or what
/// hears of a loss. No completion of another call may run inside it, for it may hold a mutex that
/// the completion takes.
///
/// Thread safety: none; it lives and dies in one thread.
class user_code {
 public:
  user_code() noexcept { ++depth; }
  user_code(const user_code&) = delete;
  user_code& operator=(const user_code&) = delete;
  ~user_code() { --depth; }

  static bool runs_here() noexcept { return depth > 0; }

 private:
  inline static thread_local int depth = 0;
};

}  // namespace holdfast::client
