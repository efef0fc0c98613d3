#pragma once

namespace holdfast::io {

/// While one lives, this test program's resolver keeps questions for names that end in ".slow" and
/// answers 127.0.0.1 when told to; for all others it is the system's. One at a time, in a program
/// that is linked with slow_resolver_fixture.cpp.
class slow_resolver {
 public:
  slow_resolver() noexcept;
  slow_resolver(const slow_resolver&) = delete;
  slow_resolver& operator=(const slow_resolver&) = delete;
  ~slow_resolver();
  /// From here on it answers at once.
  void answer() noexcept;
  /// How many were asked, answered or not.
  int questions() const noexcept;
};

}  // namespace holdfast::io
