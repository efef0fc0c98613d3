#pragma once

#include "io/thread/loop.hpp"

#include <cstdint>
#include <functional>
#include <memory>

namespace holdfast::io {

/// Calls back once, on the loop, when a process ends. A hint where to look and never proof of
/// anything: pids are reused, and mean another process in another pid namespace. See pidfd_open(2).
class process_watch {
 public:
  enum class armed : std::uint8_t { yes, no_such_process, cannot };

  /// How many may be armed in a process at once; more are `cannot`. Each costs a descriptor, and a
  /// program with thousands of waiters needs its descriptors for itself.
  static constexpr int most = 64;

  process_watch() = default;
  process_watch(const process_watch&) = delete;
  process_watch& operator=(const process_watch&) = delete;
  ~process_watch() { disarm(); }

  armed arm(std::shared_ptr<loop> on, std::int64_t pid, std::function<void()> ended);
  void disarm() noexcept;

 private:
  std::shared_ptr<loop> loop_;
  std::uint64_t reading_{};
};

}  // namespace holdfast::io
