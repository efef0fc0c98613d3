#pragma once

#include "tests/process/proxy.hpp"
#include "tests/redlock/five_nodes.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace holdfast::redlock_tests {

/// Every node behind a proxy.
struct far_nodes {
  explicit far_nodes(std::size_t count, const server::options& o = {}, duration max_ttl = 1s)
      : nodes(count, o) {
    for (std::size_t i = 0; i < count; ++i) {
      links.push_back(std::make_unique<process::proxy>(nodes[i].port()));
      nodes.reach(i, links[i]->address());
    }
    nodes.init(max_ttl);
  }
  five_nodes nodes;
  std::vector<std::unique_ptr<process::proxy>> links;
};

}  // namespace holdfast::redlock_tests
