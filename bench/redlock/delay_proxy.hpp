#pragma once

#include "tests/process/child.hpp"

#include <chrono>
#include <vector>

namespace holdfast::bench {

/// A process between clients and servers that delivers everything later, each way.
class delay_proxy {
 public:
  delay_proxy(const std::vector<int>& servers, std::chrono::nanoseconds each_way);

  /// One for each server, in the same order.
  const std::vector<int>& ports() const noexcept { return ports_; }

 private:
  std::vector<int> ports_;
  process::child process_;
};

}  // namespace holdfast::bench
