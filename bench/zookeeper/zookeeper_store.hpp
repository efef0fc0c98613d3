#pragma once

#include "bench/call_count.hpp"
#include "engines/zookeeper/engine.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::bench {

/// Its calls are batches: of one request or several that are sent together.
class zookeeper_store final : public call_count {
 public:
  explicit zookeeper_store(const std::string& url);

  std::uint64_t calls() const override;
  core::engine& engine() const noexcept { return *kept_; }

 private:
  std::shared_ptr<core::engine> kept_;
  std::shared_ptr<engines::zookeeper::ensemble> servers_;
};

}  // namespace holdfast::bench
