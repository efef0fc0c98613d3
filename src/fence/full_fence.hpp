#pragma once

#include "core/sanitizer.hpp"

#include <atomic>

namespace holdfast::fencing {

/// Everything before it, system calls on files included, is seen by other processors before
/// everything after it is done: a processor may otherwise load a word before an earlier store of
/// its own (here: the file's new size) is visible.
inline void full_fence() noexcept {
#pragma GCC diagnostic push
#if HOLDFAST_UNDER_TSAN && !defined(__clang__)
// TSan does not know fences; none of the data races that it looks for depends on this one.
#pragma GCC diagnostic ignored "-Wtsan"
#endif
  std::atomic_thread_fence(std::memory_order_seq_cst);
#pragma GCC diagnostic pop
}

}  // namespace holdfast::fencing
