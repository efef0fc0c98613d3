#pragma once

#include "io/process/process_mutex.hpp"
#include "io/process/process_slot.hpp"
#include "io/process/word_waiter.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace holdfast::engines::local {

/// What the processes of one store share in memory: the file `shared`, mapped by each. It means
/// nothing after a reboot and is then made anew. Everything in it is atomic: a process can be
/// killed between any two instructions.
struct shared_state {
  static constexpr std::uint64_t magic_value = 0x3153'4654'5341'4648;  // "HFASTFS1"

  std::atomic<std::uint64_t> magic;
  alignas(64) io::process_mutex::word gate;
  /// The part of the token floor that is known to be on the disk.
  alignas(64) std::atomic<std::uint64_t> synced_ceiling;
  /// Slots at and above this one were never used.
  std::atomic<std::uint32_t> slots_used;
  alignas(64) std::array<io::wake_word, io::process_slot::count> wake;
};

}  // namespace holdfast::engines::local
