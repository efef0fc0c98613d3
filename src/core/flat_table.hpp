#pragma once

#include "core/assert.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace holdfast::core {

/// Finds things by a hash of their name. The things belong to somebody else, and nothing of them is
/// read but by the caller's own comparison: with a thousand locks at a time each look at a
/// neighbour, as the chains of std::unordered_map have it, is a wait for memory.
///
/// Open addressing, linear probing, at most half full; what is erased leaves no mark behind. A hash
/// need not be spread well.
///
/// Thread safety: none; one owner.
template <class T>
class flat_table {
 public:
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  /// The first with this hash of which `is_it(thing)` is true, or null.
  template <class Is>
  T* find(std::uint64_t hash, Is&& is_it) const {
    if (slots_.empty()) return nullptr;
    for (std::size_t at = home(hash); slots_[at].thing != nullptr; at = after(at)) {
      if (slots_[at].hash == hash && is_it(*slots_[at].thing)) return slots_[at].thing;
    }
    return nullptr;
  }

  /// One that is not there yet.
  void insert(std::uint64_t hash, T& thing) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    put({hash, &thing});
    ++size_;
    // Else a look for what is not there would never meet the empty place that ends it.
    HOLDFAST_ASSERT(2 * size_ <= slots_.size());
  }

  /// One that is there.
  void erase(std::uint64_t hash, const T& thing) noexcept {
    HOLDFAST_ASSERT(!slots_.empty());
    std::size_t hole = home(hash);
    while (slots_[hole].thing != &thing) {
      HOLDFAST_ASSERT(slots_[hole].thing != nullptr);
      hole = after(hole);
    }
    slots_[hole] = {};
    --size_;
    // Whoever stands behind moves up, unless that would be before its home.
    for (std::size_t at = after(hole); slots_[at].thing != nullptr; at = after(at)) {
      if (distance(home(slots_[at].hash), at) < distance(hole, at)) continue;
      slots_[hole] = std::exchange(slots_[at], {});
      hole = at;
    }
  }

  void clear() noexcept {
    for (slot& s : slots_) s = {};
    size_ = 0;
  }

  /// `f` may change the things, not the table.
  template <class F>
  void for_each(F&& f) const {
    for (const slot& s : slots_) {
      if (s.thing != nullptr) f(*s.thing);
    }
  }

 private:
  struct slot {
    std::uint64_t hash{};
    T* thing{};
  };

  static constexpr std::size_t least = 16;

  std::size_t after(std::size_t at) const noexcept { return (at + 1) & (slots_.size() - 1); }
  std::size_t distance(std::size_t from, std::size_t to) const noexcept {
    return (to - from) & (slots_.size() - 1);
  }
  /// The upper bits of a product depend on all bits of the hash.
  std::size_t home(std::uint64_t hash) const noexcept {
    return static_cast<std::size_t>(hash * 0x9e37'79b9'7f4a'7c15U >> shift_);
  }

  void put(const slot& s) noexcept {
    std::size_t at = home(s.hash);
    while (slots_[at].thing != nullptr) at = after(at);
    slots_[at] = s;
  }

  void grow() {
    const auto old = std::exchange(slots_, std::vector<slot>(std::max(least, 2 * slots_.size())));
    HOLDFAST_ASSERT(std::has_single_bit(slots_.size()));
    shift_ = 64;
    for (std::size_t n = slots_.size(); n > 1; n /= 2) --shift_;
    for (const slot& s : old) {
      if (s.thing != nullptr) put(s);
    }
  }

  std::vector<slot> slots_;  ///< A power of two of them, or none.
  unsigned shift_{64};
  std::size_t size_{};
};

}  // namespace holdfast::core
