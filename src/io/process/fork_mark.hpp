#pragma once

#include <cstdint>

namespace holdfast::io {

/// Which process generation this is: a number that differs between a process and its forked child.
///
/// Read from a page that the kernel wipes in the child (madvise MADV_WIPEONFORK), so it also sees
/// forks made without the C library. One load when nothing has happened; never fails.
std::uint64_t process_generation() noexcept;

}  // namespace holdfast::io
