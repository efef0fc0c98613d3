#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::io {

inline constexpr std::size_t cache_line_bytes = 64;

/// Has the processor bring memory that is written soon: what belongs to a thousand locks is in no
/// cache, and each of them would wait for its own. A hint, that any address may be given.
inline void prefetch(std::uintptr_t at, std::size_t bytes) noexcept {
#pragma GCC unroll 16
  for (std::size_t i = 0; i < bytes; i += cache_line_bytes) {
    __builtin_prefetch(reinterpret_cast<const void*>(at + i), 1);
  }
}

}  // namespace holdfast::io
