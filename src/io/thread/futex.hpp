#pragma once

#include <holdfast/clock.hpp>

#include <atomic>
#include <cstdint>

namespace holdfast::io {

/// \file
/// futex(2) on words that several processes map: never the private flavour, which compares virtual
/// addresses.

enum class woken : std::uint8_t {
  yes,        ///< Woken, interrupted, or the word was different: look again.
  timed_out,  ///< `limit` has passed.
};

/// Sleeps while `*word == expected`, at most `limit` (counted on CLOCK_MONOTONIC by the kernel: a
/// limit here is only ever a reason to look again).
woken futex_wait(const std::uint32_t* word, std::uint32_t expected, duration limit) noexcept;

/// Sleeps while both words have the values expected of them (futex_waitv, Linux 5.16).
/// `unsupported` when the kernel cannot do that.
enum class woken_by_either : std::uint8_t { yes, timed_out, unsupported };
woken_by_either futex_wait_either(const std::uint32_t* first, std::uint32_t first_expected,
                                  const std::uint32_t* second, std::uint32_t second_expected,
                                  duration limit) noexcept;

/// Wakes at most `count` sleepers of any process.
void futex_wake(const std::uint32_t* word, int count) noexcept;

/// The address of an atomic's value, as the kernel wants it.
inline const std::uint32_t* address_of(const std::atomic<std::uint32_t>& word) noexcept {
  static_assert(sizeof word == sizeof(std::uint32_t));
  return reinterpret_cast<const std::uint32_t*>(&word);
}

}  // namespace holdfast::io
