#pragma once

#include <functional>
#include <utility>
#include <vector>

namespace holdfast::io {

/// While it lives, what this thread queues on streams stays there; at its end each of them sends
/// what it has in one write. For commands that follow each other to the same servers. The loop's
/// own thread gathers anyway, until the end of a turn.
///
/// One that lives inside another one does nothing. Not under a mutex that a receiver takes.
///
/// Thread safety: none; it lives and dies in one thread.
class one_write {
 public:
  one_write() noexcept;
  one_write(const one_write&) = delete;
  one_write& operator=(const one_write&) = delete;
  ~one_write();

  /// Whether this thread has one.
  static bool gathers() noexcept;
  /// `flush` of this stream runs at its end, once. Only while this thread gathers.
  static void add(const void* stream, std::function<void()> flush);

 private:
  bool outermost_;
  std::vector<std::pair<const void*, std::function<void()>>> streams_;
};

}  // namespace holdfast::io
