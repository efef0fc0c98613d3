#pragma once

#include "core/engine.hpp"
#include "io/redis/redis_connection.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::bench {

/// The inside of a store that this process has open: what no public name shows.
class redis_store {
 public:
  explicit redis_store(const std::string& url);

  core::engine& engine() const noexcept { return *engine_; }
  io::redis_connection::counters count() const;
  /// Writes and reads so far.
  std::uint64_t calls() const {
    const auto all = count();
    return all.writes + all.reads;
  }

 private:
  std::shared_ptr<core::engine> engine_;
};

}  // namespace holdfast::bench
