#pragma once

#include "core/parking.hpp"

namespace holdfast::io {

/// Where one blocked caller is parked until somebody opens it, once.
///
/// Thread safety: one waits, one opens. It must live until both have returned: keep it in an object
/// that both own.
class latch {
 public:
  void open() noexcept;
  void wait() noexcept;
  /// The same for a word that is not in a latch.
  static void wait_for(core::parking& p) noexcept;
  bool is_open() const noexcept { return parking_.is_open(); }
  /// For an engine that may use the caller's thread while it waits.
  core::parking& place() noexcept { return parking_; }

 private:
  core::parking parking_;
};

}  // namespace holdfast::io
