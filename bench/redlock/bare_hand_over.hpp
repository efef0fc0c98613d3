#pragma once

#include "bench/redlock/bare_redlock.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::bench {

/// The least that hands a lock from one process to another: two clients of one thread, of which the
/// one that waits is told by each node that the lock was released, and asks for it as soon as a
/// majority has. There is nobody to choose among, and no thread to wake.
class bare_hand_over {
 public:
  explicit bare_hand_over(const std::vector<int>& ports);

  /// Hands it over so often, and keeps it for so long each time, in seconds; at the end it is free.
  /// For each time how long it took from the release on, in microseconds.
  std::vector<double> run(std::size_t often, double hold);

 private:
  /// A connection of each client to each node, and one on which the nodes' messages come.
  enum class part : std::uint8_t { one, other, told };
  std::size_t node(part p, std::size_t i) const noexcept;
  void queue(part p, const std::string& bytes);
  void acquire(part by, std::string& value);
  /// Until everything is answered; when the next one had it, or zero.
  double settle(part next, std::string& value, bool hands_over);

  std::size_t count_;
  bare_nodes nodes_;
  const bare_texts texts_;
  std::string release_;  ///< The digest of the script.
  std::string bytes_;
  std::uint64_t number_{2'000'000'000};
};

}  // namespace holdfast::bench
