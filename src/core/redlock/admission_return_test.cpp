#include "core/redlock/admission_fixture.hpp"

#include "gtest/gtest.h"

#include <deque>

/// How a node that waited is brought back by one of many.

namespace holdfast::core::redlock {
namespace {

TEST(admission_return, of_many_clients_one_brings_a_node_back) {
  std::deque<store> clients(30);
  std::vector<node_facts> there = clients[0].facts;
  there[0].record.reset();
  const auto in_turn = [&](const auto& what) {
    for (store& c : clients) {
      c.facts = there;
      what(c);
      there = c.facts;
    }
  };
  std::uint64_t seed = 0;
  in_turn([&](store& c) {
    c.a = admission({.nodes = 3,
                     .max_ttl = max_ttl,
                     .timeout = timeout,
                     .config_hash = "list",
                     .seed = ++seed});
    c.connect_all(t0);
  });
  ASSERT_EQ(there[0].record->epoch, 0U);
  const time_point end = t0 + wait + 4 * admission::return_first * timeout;
  for (time_point now = t0 + wait; now < end; now += timeout / 10) {
    in_turn([&](store& c) { c.tick(now); });
  }
  for (const node_facts& f : there) EXPECT_EQ(f.record->epoch, 4U) << "moved once";
  in_turn([&](store& c) { EXPECT_TRUE(c.a.voters().has(0)); });
}

TEST(admission_return, each_waits_for_another_while) {
  const auto looked_after = [](std::uint64_t seed) {
    store s;
    s.a = admission(
        {.nodes = 3, .max_ttl = max_ttl, .timeout = timeout, .config_hash = "list", .seed = seed});
    s.facts[0].run_id = "run9";
    s.connect_all(t0);
    return s.a.tick(t0 + wait).wake - (t0 + wait);
  };
  EXPECT_NE(looked_after(1), looked_after(2));
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    EXPECT_LE(looked_after(seed), admission::return_first * timeout);
  }
}

TEST(admission_return, who_is_looked_at_when_its_wait_is_over_comes_back_at_once) {
  store s;
  s.facts[0].run_id = "run9";
  s.connect_all(t0);
  s.serve(s.a.disconnected(0, t0 + wait - 1s), t0 + wait - 1s);
  s.connect(0, t0 + wait);
  EXPECT_EQ(s.a.standing_of(0), standing::admitted) << "a short program may be the only client";
}

TEST(admission_return, a_program_that_begins_may_look_at_the_lost_node_first) {
  store before;
  before.facts[0].run_id = "run9";
  before.connect_all(t0);
  for (const bool soon : {true, false}) {
    store s;
    s.facts = before.facts;
    s.a = admission(
        {.nodes = 3, .max_ttl = max_ttl, .timeout = timeout, .config_hash = "list", .seed = 5},
        before.a.sights());
    s.connect(0, t0 + wait);
    s.connect(1, t0 + wait);
    EXPECT_EQ(s.a.standing_of(0), standing::waiting) << "too few others";
    s.connect(2, t0 + wait + (soon ? timeout : admission::return_first * timeout));
    EXPECT_EQ(s.a.standing_of(0), soon ? standing::admitted : standing::waiting)
        << "who has been there for longer looks once more, at a moment of its own";
  }
}

}  // namespace
}  // namespace holdfast::core::redlock
