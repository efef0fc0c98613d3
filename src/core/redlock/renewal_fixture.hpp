#pragma once

#include "core/redlock/renewal.hpp"
#include "core/start_fixture.hpp"

#include "gtest/gtest.h"

#include <chrono>
#include <deque>
#include <initializer_list>
#include <limits>

namespace holdfast::core::redlock {

using handle = renewal::handle;
using there = renewal::session_there;

constexpr duration ttl = std::chrono::seconds(6);

inline renewal::answer says(std::initializer_list<bool> ours, there session = there::holds) {
  renewal::answer a;
  a.session = session;
  std::size_t k = 0;
  for (const bool b : ours) a.ours.set(k++, b);
  return a;
}

struct held_locks {
  explicit held_locks(std::size_t nodes = 5) : n(nodes), r({nodes, ttl}, t0) {}

  handle add(std::uint32_t extensions = std::numeric_limits<std::uint32_t>::max()) {
    return add_on(node_set::all(n), extensions);
  }
  handle add_on(node_set where,
                std::uint32_t extensions = std::numeric_limits<std::uint32_t>::max()) {
    leases.emplace_back(t0 + usable(ttl));
    return r.add(leases.back(), where, t0 + usable(ttl), token{7}, extensions);
  }
  /// The one batch that is sent at `now`.
  renewal::batch send(time_point now) {
    const auto s = r.tick(now);
    EXPECT_EQ(s.send.size(), 1U);
    return s.send.empty() ? renewal::batch{} : s.send[0];
  }

  std::size_t n;
  std::deque<lease> leases;
  renewal r;
};

}  // namespace holdfast::core::redlock
