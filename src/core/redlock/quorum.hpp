#pragma once

#include "core/assert.hpp"

#include <holdfast/clock.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace holdfast::core::redlock {

/// The place of a node in the configured list.
using node_index = std::uint32_t;

inline constexpr std::size_t nodes_max = 31;

/// Some of the configured nodes. A plain value.
class node_set {
 public:
  constexpr node_set() = default;
  /// The first `n` nodes.
  static constexpr node_set all(std::size_t n) noexcept {
    HOLDFAST_ASSERT(n <= nodes_max);
    return node_set((std::uint32_t{1} << n) - 1);
  }
  static constexpr node_set only(node_index i) noexcept {
    HOLDFAST_ASSERT(i < nodes_max);
    return node_set(std::uint32_t{1} << i);
  }

  constexpr bool has(node_index i) const noexcept { return (bits_ >> i & 1U) != 0; }
  constexpr void add(node_index i) noexcept {
    HOLDFAST_ASSERT(i < nodes_max);
    bits_ |= std::uint32_t{1} << i;
  }
  constexpr void remove(node_index i) noexcept { bits_ &= ~(std::uint32_t{1} << i); }
  /// In steps: without an instruction for it, std::popcount() calls a function.
  constexpr std::size_t size() const noexcept {
    std::uint32_t n = bits_ - (bits_ >> 1U & 0x5555'5555U);
    n = (n & 0x3333'3333U) + (n >> 2U & 0x3333'3333U);
    n = (n + (n >> 4U)) & 0x0f0f'0f0fU;
    return n * 0x0101'0101U >> 24U;
  }
  constexpr bool empty() const noexcept { return bits_ == 0; }
  /// The lowest node; only of a set that is not empty.
  constexpr node_index first() const noexcept {
    HOLDFAST_ASSERT(!empty());
    return static_cast<node_index>(std::countr_zero(bits_));
  }
  constexpr std::uint32_t bits() const noexcept { return bits_; }

  friend constexpr node_set operator|(node_set a, node_set b) noexcept {
    return node_set(a.bits_ | b.bits_);
  }
  friend constexpr node_set operator&(node_set a, node_set b) noexcept {
    return node_set(a.bits_ & b.bits_);
  }
  friend constexpr node_set operator-(node_set a, node_set b) noexcept {
    return node_set(a.bits_ & ~b.bits_);
  }
  friend constexpr bool operator==(node_set, node_set) = default;

 private:
  constexpr explicit node_set(std::uint32_t bits) noexcept : bits_(bits) {}
  std::uint32_t bits_{};
};

/// Calls `f` with every node of `s`, the lowest first.
template <class F>
constexpr void for_each(node_set s, F&& f) {
  while (!s.empty()) {
    const node_index i = s.first();
    s.remove(i);
    f(i);
  }
}

/// Any two sets of this size out of `n` share a node, for even `n` too.
constexpr std::size_t majority(std::size_t n) noexcept { return n / 2 + 1; }
/// How many nodes can be without and a majority still be possible.
constexpr std::size_t spare(std::size_t n) noexcept { return n - majority(n); }
/// How many nodes must refuse a session so that no majority of them can serve it.
constexpr std::size_t deny_count(std::size_t n) noexcept { return spare(n) + 1; }
/// How many *other* nodes a rejoin seals: a majority of the others, which shares a node that kept
/// its state with every majority that once counted the one that lost it.
constexpr std::size_t seal_count(std::size_t n) noexcept {
  HOLDFAST_ASSERT(n > 0);
  return (n - 1) / 2 + 1;
}

/// Until when a majority of the nodes protects: the majority-th largest of one deadline per
/// configured node. time_point::min() stands for a node that does not.
time_point majority_deadline(std::span<const time_point> per_node);

}  // namespace holdfast::core::redlock
