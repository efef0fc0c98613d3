#pragma once

#include "bench/call_count.hpp"
#include "engines/etcd/engine.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::bench {

class etcd_store final : public call_count {
 public:
  explicit etcd_store(const std::string& url);

  std::uint64_t calls() const override;
  core::engine& engine() const noexcept { return *kept_; }

 private:
  std::shared_ptr<core::engine> kept_;
  std::shared_ptr<engines::etcd::cluster> servers_;
};

}  // namespace holdfast::bench
