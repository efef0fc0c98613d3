#pragma once

#include <csignal>
#include <ctime>

namespace holdfast::cli {

/// While it lives, a watched signal that ends a wait ends the program with its number, a moment
/// after it came: servers that hang may keep the calling thread in the library for seconds. Until
/// that moment it is left to whoever reads the watched signals, so that what was opened meanwhile
/// is closed.
///
/// For the main thread, with the watched signals blocked and nothing to be undone but what the
/// kernel undoes. One at a time.
class exit_on_signal {
 public:
  exit_on_signal() noexcept;
  exit_on_signal(const exit_on_signal&) = delete;
  exit_on_signal& operator=(const exit_on_signal&) = delete;
  ~exit_on_signal();

 private:
  struct sigaction before_ {};
  sigset_t mask_{};
  timer_t timer_{};
  bool runs_{};
};

/// Whether a watched signal ends a wait: the others are about the terminal, or about children.
bool ends_wait(int signal) noexcept;

}  // namespace holdfast::cli
