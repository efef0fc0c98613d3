#pragma once

#include "engines/redlock/cluster.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::core {
class engine;
}

namespace holdfast::bench {

/// The inside of a store that this process has open: what no public name shows.
class redlock_store {
 public:
  explicit redlock_store(const std::string& url);

  core::engine& engine() const noexcept { return *engine_; }
  /// Of all connections together.
  io::redis_connection::counters count() const;
  /// Writes and reads so far.
  std::uint64_t calls() const {
    const auto all = count();
    return all.writes + all.reads;
  }

 private:
  std::shared_ptr<core::engine> engine_;
  std::shared_ptr<engines::redlock::cluster> nodes_;
};

}  // namespace holdfast::bench
