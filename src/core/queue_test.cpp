#include "core/queue.hpp"

#include "gtest/gtest.h"

#include <rapidcheck/gtest.h>

#include <map>

namespace holdfast::core {
namespace {

using queue = std::vector<entry>;

queue line(std::initializer_list<mode> modes) {
  queue q;
  for (const mode& how : modes) q.push_back({.order = token{q.size() + 1}, .how = how});
  return q;
}

const mode x = mode::exclusive(), s = mode::shared();

TEST(queue, exclusive_waits_for_everybody_older) {
  EXPECT_TRUE(granted(line({x, x}), token{1}));
  EXPECT_FALSE(granted(line({x, x}), token{2}));
  EXPECT_FALSE(granted(line({s, x}), token{2}));
}

TEST(queue, shared_joins_older_shared_ones) { EXPECT_TRUE(granted(line({s, s, s}), token{3})); }

TEST(queue, shared_waits_behind_an_older_exclusive_that_waits_itself) {
  EXPECT_FALSE(granted(line({s, x, s}), token{3}));
}

TEST(queue, permits_let_n_in) {
  const mode p = mode::permits(2);
  EXPECT_TRUE(granted(line({p, p, p}), token{2}));
  EXPECT_FALSE(granted(line({p, p, p}), token{3}));
}

TEST(queue, an_absent_entry_is_not_granted_and_watches_nothing) {
  EXPECT_FALSE(granted(line({x}), token{2}));
  EXPECT_FALSE(granted({}, token{1}));
  EXPECT_TRUE(watch_targets(line({x}), token{2}).empty());
}

TEST(queue, a_holder_watches_nothing) {
  EXPECT_TRUE(watch_targets(line({x, x}), token{1}).empty());
}

TEST(queue, exclusive_watches_the_youngest_older_entry) {
  EXPECT_EQ(watch_targets(line({x, s, x}), token{3}), std::vector{token{2}});
}

TEST(queue, shared_watches_the_youngest_older_writer) {
  EXPECT_EQ(watch_targets(line({x, x, s, s}), token{4}), std::vector{token{2}});
}

TEST(queue, permits_watch_the_n_youngest_older_entries) {
  const mode p = mode::permits(2);
  EXPECT_EQ(watch_targets(line({p, p, p, p}), token{4}), (std::vector{token{2}, token{3}}));
}

TEST(queue, permits_agree_only_with_the_same_n) {
  EXPECT_TRUE(fits({}, mode::permits(2)));
  EXPECT_TRUE(fits(line({mode::permits(2)}), mode::permits(2)));
  EXPECT_FALSE(fits(line({mode::permits(2)}), mode::permits(3)));
  EXPECT_FALSE(fits(line({s}), mode::permits(2)));
  EXPECT_FALSE(fits(line({mode::permits(2)}), x));
  EXPECT_TRUE(fits(line({s, x}), s));
}

TEST(queue, only_shared_with_shared_and_permits_with_permits_go_together) {
  const mode p = mode::permits(2);
  for (const mode& a : {x, s, p}) {
    for (const mode& b : {x, s, p}) {
      EXPECT_EQ(excludes(a, b), a.is_exclusive() || a != b);
    }
  }
}

TEST(queue, counts_who_is_ahead) {
  EXPECT_EQ(ahead_of(line({x, x, x}), token{3}), 2u);
  EXPECT_EQ(ahead_of(line({x, x, x}), token{1}), 0u);
}

queue random_line() {
  const auto n = *rc::gen::inRange<std::size_t>(1, 14);
  const bool permits = *rc::gen::arbitrary<bool>();
  const auto limit = *rc::gen::inRange<std::uint32_t>(1, 5);
  queue q;
  for (std::size_t i = 0; i < n; ++i) {
    const mode how = permits ? mode::permits(limit) : *rc::gen::element(x, s);
    q.push_back({.order = token{i + 1}, .how = how});
  }
  return q;
}

RC_GTEST_PROP(queue_property, no_waiter_misses_the_departure_that_grants_it, ()) {
  queue q = random_line();
  std::map<token, std::vector<token>> watching;
  for (const entry& e : q) watching[e.order] = watch_targets(q, e.order);
  while (!q.empty()) {
    const auto at = *rc::gen::inRange<std::size_t>(0, q.size());
    const token gone = q[at].order;
    q.erase(q.begin() + static_cast<std::ptrdiff_t>(at));
    for (const entry& e : q) {
      auto& targets = watching[e.order];
      const bool woken = std::find(targets.begin(), targets.end(), gone) != targets.end();
      // It looks again only when woken; whoever was not woken must not have become a holder.
      if (woken) targets = watch_targets(q, e.order);
      RC_ASSERT(granted(q, e.order) == targets.empty());
    }
  }
}

RC_GTEST_PROP(queue_property, holders_never_exclude_each_other, ()) {
  const queue q = random_line();
  std::vector<mode> holders;
  for (const entry& e : q) {
    if (granted(q, e.order)) holders.push_back(e.how);
  }
  RC_ASSERT(!holders.empty());
  for (std::size_t i = 0; i < holders.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) RC_ASSERT(!excludes(holders[i], holders[k]));
  }
  if (holders[0].is_permits()) RC_ASSERT(holders.size() <= holders[0].limit());
}

}  // namespace
}  // namespace holdfast::core
