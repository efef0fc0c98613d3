#pragma once

#include <cstdint>

namespace holdfast::bench {

/// The inside of a store that this process has open: how often it asked its servers, which no
/// public name shows.
class call_count {
 public:
  call_count() = default;
  call_count(const call_count&) = delete;
  call_count& operator=(const call_count&) = delete;
  virtual ~call_count() = default;

  /// How many calls, or batches of several, were sent so far.
  virtual std::uint64_t calls() const = 0;
  /// Waits until none was for a while.
  void settle() const;
};

}  // namespace holdfast::bench
