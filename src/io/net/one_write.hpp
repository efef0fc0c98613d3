#pragma once

#include <memory>
#include <vector>

namespace holdfast::io {

/// While it lives, what this thread queues on streams stays there; at its end each of them sends
/// what it has in one write. For commands that follow each other to the same servers.
///
/// One that lives inside another one does nothing, nor does one on a thread of the library: there
/// the loop gathers until the end of a turn. Not under a mutex that a receiver takes.
///
/// Thread safety: none; it lives and dies in one thread.
class one_write {
 public:
  /// What sends what was queued on it.
  class writer {
   public:
    writer() = default;
    writer(const writer&) = delete;
    writer& operator=(const writer&) = delete;
    virtual ~writer() = default;
    virtual void flush() = 0;
  };

  one_write() noexcept;
  one_write(const one_write&) = delete;
  one_write& operator=(const one_write&) = delete;
  ~one_write();

  /// Whether this thread has one.
  static bool gathers() noexcept;
  /// It is flushed at the end, once. Only while this thread gathers.
  static void add(std::shared_ptr<writer> w);

 private:
  const bool gathers_;
  std::vector<std::shared_ptr<writer>> writers_;
};

}  // namespace holdfast::io
