#pragma once

#include <string>
#include <vector>

namespace holdfast::io {

/// While one lives, this test program's resolver keeps questions for names that end in ".slow" and
/// answers 127.0.0.1 when told to; for all others it is the system's. One at a time, in a program
/// that is linked with slow_resolver_fixture.cpp.
class slow_resolver {
 public:
  slow_resolver();
  slow_resolver(const slow_resolver&) = delete;
  slow_resolver& operator=(const slow_resolver&) = delete;
  ~slow_resolver();
  /// From here on it answers at once.
  void answer() noexcept;
  /// What the next answers are, in this order.
  void lead_to(std::vector<std::string> numbers);
  /// How many were asked, answered or not.
  int questions() const noexcept;
};

}  // namespace holdfast::io
