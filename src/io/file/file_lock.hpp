#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <utility>

namespace holdfast::io {

/// \file
/// Open file description locks on single bytes of a file (fcntl(2), F_OFD_*): shared by everybody
/// who inherits the descriptor, freed by the kernel with the last of them, and not dropped when
/// some other descriptor of the same file is closed.

enum class share : std::uint8_t { together, alone };

/// Takes the lock on one byte, or changes how it is held; false when somebody else is in the way.
result<bool> try_lock_byte(int fd, std::int64_t byte, share how);

/// The same, asking again until `limit` has passed. The kernel has no timed form.
result<bool> lock_byte(int fd, std::int64_t byte, share how, duration limit);

void unlock_byte(int fd, std::int64_t byte) noexcept;

/// True when another description holds the byte together with whoever wants to. False when it
/// cannot be told.
bool is_held_together(int fd, std::int64_t byte) noexcept;

/// A byte that was locked, given back at the end: closing the descriptor would not do it while a
/// forked child has it too. Not to be destroyed in that child: the lock is its parent's.
class locked_byte {
 public:
  locked_byte() = default;
  /// `fd` must outlive it.
  locked_byte(int fd, std::int64_t byte) noexcept : fd_(fd), byte_(byte) {}
  locked_byte(locked_byte&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), byte_(other.byte_) {}
  locked_byte& operator=(locked_byte&& other) noexcept {
    const locked_byte old(std::exchange(fd_, std::exchange(other.fd_, -1)),
                          std::exchange(byte_, other.byte_));
    return *this;
  }
  ~locked_byte() {
    if (fd_ >= 0) unlock_byte(fd_, byte_);
  }

 private:
  int fd_{-1};
  std::int64_t byte_{};
};

/// True when nobody but this description holds any lock on the file. False when it cannot be told.
bool is_unlocked(int fd) noexcept;

}  // namespace holdfast::io
