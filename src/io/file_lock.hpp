#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <cstdint>

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

/// True when nobody but this description holds any lock on the file. False when it cannot be told.
bool is_unlocked(int fd) noexcept;

}  // namespace holdfast::io
