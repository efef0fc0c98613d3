#pragma once

#include <holdfast/lock.hpp>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace holdfast::redis_tests {

/// Sees every holder of one name in this process, and says when two hold at once or a token does
/// not grow.
///
/// A holder that passes check() after a younger one has begun is the proof of two holders: both
/// moments are under one mutex.
///
/// Thread safety: every function, from any thread.
class witness {
 public:
  explicit witness(bool tokens = true) : tokens_(tokens) {}

  /// A holder begins: its number; zero when it has lost the lock already.
  std::uint64_t begins(const lock& l);
  /// False when it has lost the lock.
  bool still(std::uint64_t holder, const lock& l);

  std::uint64_t grants() const;
  /// What was wrong; empty when nothing was.
  std::vector<std::string> violations() const;

 private:
  const bool tokens_;
  mutable std::mutex mutex_;
  std::uint64_t youngest_{};
  std::uint64_t token_{};
  std::vector<std::string> violations_;
};

}  // namespace holdfast::redis_tests
