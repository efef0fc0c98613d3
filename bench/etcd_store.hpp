#pragma once

#include "engines/etcd/engine.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::bench {

/// The inside of a store that this process has open: what no public name shows.
class etcd_store {
 public:
  explicit etcd_store(const std::string& url);

  /// How many calls were sent so far.
  std::uint64_t calls() const;
  /// Waits until none was for a while.
  void settle() const;

 private:
  std::shared_ptr<core::engine> kept_;
  std::shared_ptr<engines::etcd::cluster> servers_;
};

}  // namespace holdfast::bench
