#pragma once

#include <cstdint>

namespace holdfast::core {

/// The next 64 bits of a stream that `state` is the whole memory of. Good enough to spread pauses,
/// never for secrets. (G. Steele, D. Lea, C. Flood: Fast splittable pseudorandom number generators,
/// OOPSLA 2014, as SplitMix64.)
constexpr std::uint64_t splitmix(std::uint64_t& state) noexcept {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace holdfast::core
