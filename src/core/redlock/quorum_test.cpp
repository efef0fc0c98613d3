#include "core/redlock/quorum.hpp"
#include "core/start_fixture.hpp"

#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;

const time_point never = time_point::min();

node_set nodes_of_bits(std::uint32_t bits) {
  node_set s;
  for (node_index i = 0; i < nodes_max; ++i) {
    if ((bits >> i & 1U) != 0) s.add(i);
  }
  return s;
}

static_assert(node_set::all(nodes_max).size() == nodes_max);
static_assert(node_set::only(nodes_max - 1).first() == nodes_max - 1);

TEST(quorum_death, no_set_has_a_node_beyond_the_last) {
  EXPECT_DEATH(node_set::all(nodes_max + 1), "broken invariant");
  EXPECT_DEATH(node_set::only(nodes_max), "broken invariant");
}

TEST(quorum, two_majorities_always_share_a_node) {
  for (std::size_t n = 1; n <= 7; ++n) {
    for (std::uint32_t a = 0; a < 1U << n; ++a) {
      for (std::uint32_t b = 0; b < 1U << n; ++b) {
        const node_set x = nodes_of_bits(a), y = nodes_of_bits(b);
        if (x.size() != majority(n) || y.size() != majority(n)) continue;
        ASSERT_FALSE((x & y).empty()) << n;
      }
    }
  }
}

TEST(quorum, a_sealed_set_shares_a_node_that_kept_its_state_with_every_majority) {
  for (std::size_t n = 2; n <= 7; ++n) {
    for (std::uint32_t a = 0; a < 1U << n; ++a) {
      for (std::uint32_t b = 0; b < 1U << n; b += 2) {  // Node 0 rejoins.
        const node_set grant = nodes_of_bits(a), sealed = nodes_of_bits(b);
        if (grant.size() != majority(n) || sealed.size() != seal_count(n)) continue;
        ASSERT_FALSE((grant & sealed).empty()) << n;
      }
    }
  }
  EXPECT_EQ(seal_count(3), 2U);
  EXPECT_EQ(seal_count(4), 2U) << "of three others, as many as share one with any two";
  EXPECT_EQ(seal_count(5), 3U);
  EXPECT_EQ(seal_count(1), 1U) << "a single node has nobody to learn from";
}

TEST(quorum, denying_nodes_leave_no_majority) {
  for (std::size_t n = 1; n <= nodes_max; ++n) {
    EXPECT_LT(n - deny_count(n), majority(n));
    EXPECT_GE(n - (deny_count(n) - 1), majority(n)) << "one fewer would still serve";
  }
}

TEST(quorum, a_majority_protects_until_its_first_node_stops) {
  const std::vector<time_point> five{t0 + 1s, t0 + 5s, t0 + 3s, t0 + 4s, t0 + 2s};
  EXPECT_EQ(majority_deadline(five), t0 + 3s);
  const std::vector<time_point> four{t0 + 1s, t0 + 4s, t0 + 3s, t0 + 2s};
  EXPECT_EQ(majority_deadline(four), t0 + 2s);
  EXPECT_EQ(majority_deadline(std::vector{t0}), t0);
}

TEST(quorum, a_majority_protects_like_the_deadline_at_its_place_in_order) {
  for (std::size_t n = 1; n <= 6; ++n) {
    for (std::size_t code = 0; code < 4096; ++code) {  // Four values, in base four.
      std::vector<time_point> all;
      for (std::size_t i = 0; i < n; ++i) {
        all.push_back(t0 + std::chrono::seconds(code >> 2 * i & 3));
      }
      std::vector<time_point> sorted = all;
      std::sort(sorted.rbegin(), sorted.rend());
      ASSERT_EQ(majority_deadline(all), sorted[majority(n) - 1]) << n << " " << code;
    }
  }
}

TEST(quorum, nodes_without_the_key_count_as_never) {
  EXPECT_EQ(majority_deadline(std::vector{t0, t0 + 1s, never}), t0);
  EXPECT_EQ(majority_deadline(std::vector{t0, never, never}), never);
  EXPECT_EQ(majority_deadline(std::vector{t0, t0, never, never}), never) << "half is no majority";
}

TEST(node_set, has_each_node_once_in_ascending_order) {
  node_set s = node_set::only(3);
  s.add(7);
  EXPECT_EQ(s.size(), 2U);
  EXPECT_EQ(s.first(), 3U);
  EXPECT_TRUE(s.has(7));
  s.remove(3);
  EXPECT_EQ(s, node_set::only(7));
  EXPECT_EQ(node_set::all(8) - s, node_set::all(7));
  std::vector<node_index> seen;
  for_each(nodes_of_bits(0b10110), [&](node_index i) { seen.push_back(i); });
  EXPECT_EQ(seen, (std::vector<node_index>{1, 2, 4}));
  EXPECT_EQ(node_set::all(nodes_max).size(), nodes_max);
}

}  // namespace
}  // namespace holdfast::core::redlock
