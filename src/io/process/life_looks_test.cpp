#include "io/process/life_looks.hpp"

#include "io/thread/random.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

/// Looks that are counted, and what they see.
struct life_looks_test : ::testing::Test {
  life at(const session_id& id, duration age, time_point now, core::life_place where = {1, 2}) {
    return looks.at("/lives", id, where, age, now);
  }

  int counted{};
  life seen{life::alive};
  life_looks looks{[this](const auto&, const auto&, const auto&) {
    ++counted;
    return seen;
  }};
  const session_id id{{1}};
  const time_point then{1h};
};

TEST_F(life_looks_test, are_shared_by_all_who_wait_behind_one_session) {
  for (int waiter = 0; waiter < 1'000; ++waiter) {
    EXPECT_EQ(at(id, 100ms, then + waiter * 100us), life::alive);
  }
  EXPECT_EQ(counted, 1);
  seen = life::dead;
  EXPECT_EQ(at(id, 100ms, then + 101ms), life::dead);
}

TEST_F(life_looks_test, are_made_anew_by_who_asks_for_a_newer_one) {
  at(id, 100ms, then);
  EXPECT_EQ(at(id, 10ms, then + 10ms), life::alive);
  EXPECT_EQ(counted, 1);
  at(id, 10ms, then + 11ms);
  EXPECT_EQ(counted, 2);
  at(id, {}, then + 11ms);
  EXPECT_EQ(counted, 3) << "who acts on it, and cannot wait for the next look";
  at(id, 1h, then + 112ms);
  EXPECT_EQ(counted, 4) << "nobody's look counts for longer than a moment";
}

TEST_F(life_looks_test, are_of_this_very_life) {
  at(id, 100ms, then);
  at(session_id{{2}}, 100ms, then);
  EXPECT_EQ(counted, 2);
  at(id, 100ms, then, {1, 3});
  EXPECT_EQ(counted, 3);
}

TEST_F(life_looks_test, remember_nobody_who_is_not_alive) {
  for (const life other : {life::dead, life::unknown}) {
    counted = 0;
    seen = life::alive;
    at(id, {}, then);
    seen = other;
    EXPECT_EQ(at(id, {}, then), other);
    EXPECT_EQ(at(id, 100ms, then), other);
    EXPECT_EQ(counted, 3);
  }
}

TEST_F(life_looks_test, remember_so_many_at_most_and_go_on) {
  std::vector<session_id> all;
  for (std::size_t n = 0; n < life_looks::remembered_most + 100; ++n) {
    all.push_back(random_session_id());
    at(all.back(), 100ms, then);
  }
  EXPECT_EQ(at(all.back(), 100ms, then), life::alive);
  EXPECT_EQ(counted, static_cast<int>(all.size())) << "the last one is remembered";
  for (const auto& one : all) at(one, 100ms, then + 1ms);
  EXPECT_GE(counted, static_cast<int>(all.size()) + 100);
}

}  // namespace
}  // namespace holdfast::io
