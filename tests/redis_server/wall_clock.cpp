#include "tests/redis_server/wall_clock.hpp"

#include <cstdint>
#include <fstream>

namespace holdfast::redis_tests {

std::vector<std::pair<std::string, std::string>> wall_clock::environment() const {
  return {{"LD_PRELOAD", HOLDFAST_WALL_CLOCK_SHIM}, {"HOLDFAST_WALL_CLOCK", file()}};
}

void wall_clock::step(std::chrono::seconds by) const {
  const std::int64_t us = std::chrono::microseconds(by).count();
  // In place: the server has the file mapped.
  std::fstream f(file(), std::ios::in | std::ios::out | std::ios::binary);
  if (!f) f.open(file(), std::ios::out | std::ios::binary);
  f.write(reinterpret_cast<const char*>(&us), sizeof us);
}

}  // namespace holdfast::redis_tests
