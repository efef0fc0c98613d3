#pragma once

#include "core/splitmix.hpp"

#include <holdfast/clock.hpp>

#include <array>
#include <bit>
#include <cstdint>

namespace holdfast::sim {

/// The only source of chance in a run: xoshiro256** (Blackman and Vigna, "Scrambled linear
/// pseudorandom number generators", 2021), seeded through splitmix64 as its authors advise.
///
/// Own code, because the standard's distributions differ between implementations and a seed has to
/// replay everywhere.
class random {
 public:
  explicit random(std::uint64_t seed) noexcept {
    for (auto& word : state_) word = core::splitmix(seed);
  }

  std::uint64_t next() noexcept {
    const std::uint64_t out = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return out;
  }

  /// From 0 to n - 1; zero for n = 0. The bias is below n / 2^64.
  std::uint64_t below(std::uint64_t n) noexcept { return n == 0 ? 0 : next() % n; }
  int index(std::size_t n) noexcept { return static_cast<int>(below(n)); }
  /// True `per_million` times in a million.
  bool chance(int per_million) noexcept {
    return per_million > 0 && below(1'000'000) < static_cast<std::uint64_t>(per_million);
  }
  /// From `least` to `most`, both included.
  duration between(duration least, duration most) noexcept {
    if (most <= least) return least;
    return least + duration{static_cast<duration::rep>(
                       below(static_cast<std::uint64_t>((most - least).count()) + 1))};
  }
  int between(int least, int most) noexcept {
    return least + static_cast<int>(below(static_cast<std::uint64_t>(most - least) + 1));
  }

 private:
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace holdfast::sim
