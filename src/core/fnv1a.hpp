#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::core {

inline constexpr std::uint64_t fnv1a_basis = 0xcbf29ce484222325U;

/// FNV-1a of 64 bits (Fowler, Noll, Vo): the same in every process and on every machine. For
/// spreading names and finding mistakes; it stops nobody who looks for two texts of one value.
/// `state` is the value of what came before, or another start.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t state = fnv1a_basis) noexcept {
  for (const char c : text) {
    state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return state;
}

}  // namespace holdfast::core
