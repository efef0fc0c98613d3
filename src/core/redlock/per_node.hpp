#pragma once

#include "core/assert.hpp"
#include "core/redlock/quorum.hpp"

#include <array>
#include <vector>

namespace holdfast::core::redlock {

/// One value for every node: in place for the few that a store has, elsewhere for the rest.
///
/// A thousand attempts at a time are a thousand of these; with room for the largest store each they
/// would not stay in the processor's cache.
///
/// Thread safety: that of the values.
template <class T>
class per_node {
 public:
  T& operator[](node_index i) {
    HOLDFAST_ASSERT(i < nodes_max);
    if (i < few) return first_[i];
    if (rest_.empty()) rest_.resize(nodes_max - few);
    return rest_[i - few];
  }
  const T& operator[](node_index i) const {
    HOLDFAST_ASSERT(i < nodes_max);
    if (i < few) return first_[i];
    static const T unset{};
    return rest_.empty() ? unset : rest_[i - few];
  }

 private:
  static constexpr std::size_t few = 5;
  std::array<T, few> first_{};
  std::vector<T> rest_{};
};

}  // namespace holdfast::core::redlock
