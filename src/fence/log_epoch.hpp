#pragma once

#include <holdfast/token.hpp>

#include <compare>
#include <cstdint>

namespace holdfast::fencing {

/// Who may append: a token, and how often that token has opened the log. One number, so that one
/// load tells a writer whether it is still the newest, also after its own token opened the log
/// again (a program that was restarted under the same lock).
struct log_epoch {
  static constexpr unsigned opening_bits = 11;
  static constexpr std::uint64_t openings_max = (std::uint64_t{1} << opening_bits) - 1;

  /// The token's 53 bits above, the opening's 11 below. Zero: nobody yet.
  std::uint64_t word{};

  static constexpr log_epoch first_of(holdfast::token t) noexcept {
    return {(t.value << opening_bits) | 1U};
  }
  constexpr holdfast::token token() const noexcept { return {word >> opening_bits}; }
  constexpr std::uint64_t opening() const noexcept { return word & openings_max; }

  friend auto operator<=>(const log_epoch&, const log_epoch&) = default;
};

}  // namespace holdfast::fencing
