#pragma once

#include "tests/temporary_directory.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::redis_tests {

/// The wall clock of one server, which can be stepped. Every other clock is the machine's.
class wall_clock {
 public:
  wall_clock() { step(std::chrono::seconds{0}); }
  /// For server::options.
  std::vector<std::pair<std::string, std::string>> environment() const;
  /// From the machine's clock, at once.
  void step(std::chrono::seconds by) const;

 private:
  std::string file() const { return directory_.path() + "/shift"; }

  tests::temporary_directory directory_;
};

}  // namespace holdfast::redis_tests
