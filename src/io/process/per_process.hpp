#pragma once

#include "io/process/fork_mark.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace holdfast::io {

/// One T for this process, made at the first use; a forked child gets one of its own, because the
/// threads and mutexes of an inherited one are in a state nobody can know.
///
/// It is never destroyed, so that it can be used at any moment of the program's end. Declare it
/// `constinit` at namespace scope.
///
/// Thread safety: get() from any thread.
template <class T>
class per_process {
 public:
  constexpr per_process() = default;

  T& get() {
    const auto generation = process_generation();
    auto* found = slot_.load(std::memory_order_acquire);
    if (found != nullptr && found->generation == generation) return found->value;
    auto fresh = std::make_unique<slot>();
    fresh->generation = generation;
    while (found == nullptr || found->generation != generation) {
      fresh->inherited = found;
      if (slot_.compare_exchange_strong(found, fresh.get(), std::memory_order_acq_rel)) {
        return fresh.release()->value;
      }
    }
    return found->value;
  }

 private:
  struct slot {
    std::uint64_t generation{};
    slot* inherited{};  // Stays reachable: leak checkers would count it otherwise.
    T value{};
  };
  std::atomic<slot*> slot_{};
};

}  // namespace holdfast::io
