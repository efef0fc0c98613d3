#pragma once

#include <holdfast/snapshot.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::io {

/// Who this process is, for people; `program` is the file name of its executable.
/// Read anew after a fork. Thread safety: from any thread.
owner_info process_identity();

/// The boot id of process_identity(): without the rest of it, for what asks often. It stays where
/// it is. Empty when it cannot be read.
std::string_view identity_boot_id();

/// A number that is one for all copies of the library in this process, and another in every other
/// process, in a forked child, and after an exec: of what the kernel alone has chosen.
std::uint64_t process_number();

/// The inode of this process's pid namespace; zero when it cannot be told.
std::uint64_t pid_namespace() noexcept;

/// True when a process of our pid namespace has this number. For messages only: it may be another
/// one by now.
bool is_running(std::int64_t pid) noexcept;

/// The kernel's boot id: differs after every boot. Empty when it cannot be read.
std::string boot_id();

/// Whose CLOCK_BOOTTIME this process reads, on one line: the boot id, the inode of the time
/// namespace, which the kernel gives to a later one again, and how far the clock is shifted in it.
/// Empty when it cannot be told.
std::string boot_clock();

/// The wall clock, for people only.
wall_time wall_now() noexcept;

}  // namespace holdfast::io
