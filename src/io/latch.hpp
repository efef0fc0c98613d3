#pragma once

#include <atomic>
#include <cstdint>

namespace holdfast::io {

/// Where one blocked caller is parked until somebody opens it, once.
///
/// Thread safety: one waits, one opens. It must live until both have returned: keep it in an object
/// that both own.
class latch {
 public:
  void open() noexcept {
    open_.store(1, std::memory_order_release);
    open_.notify_one();
  }
  void wait() const noexcept { open_.wait(0, std::memory_order_acquire); }
  bool is_open() const noexcept { return open_.load(std::memory_order_acquire) != 0; }

 private:
  std::atomic<std::int32_t> open_{0};  // 32 bits: the width that a futex waits on directly.
};

}  // namespace holdfast::io
