#pragma once

#include "io/file/unique_fd.hpp"

#include <holdfast/error.hpp>

#include <sys/types.h>

namespace holdfast::io {

/// One small number per process: a POSIX record lock on that byte of a file.
///
/// This is the old kind of lock on purpose: it belongs to the process, a forked child does not have
/// it, and the kernel frees it when the process is gone, whatever its pid namespace. So "nobody
/// holds byte n" proves that the process which had slot n is dead.
///
/// It also is why the file is opened exactly once in a process: closing any descriptor of it drops
/// the lock (fcntl(2), "Advisory record locking"). A forked child never closes the inherited one.
///
/// Thread safety: look() from any thread.
class process_slot {
 public:
  static constexpr unsigned count = 4096;

  struct owner {
    bool alive{};
    pid_t pid{};  ///< Zero: dead, or in a pid namespace that cannot be seen from here.
  };

  /// Takes the first free slot. `unavailable` when all are taken.
  static result<process_slot> take(unique_fd file);

  unsigned number() const noexcept { return number_; }
  /// Who has slot `n` now. The own slot is alive.
  owner look(unsigned n) const noexcept;

 private:
  process_slot(unique_fd file, unsigned number) noexcept
      : file_(std::move(file)), number_(number) {}

  unique_fd file_;
  unsigned number_;
};

}  // namespace holdfast::io
