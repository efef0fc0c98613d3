#include "core/redlock/sight.hpp"

#include "core/start_fixture.hpp"

#include "gtest/gtest.h"

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;

TEST(sight, is_not_lost_by_a_round_that_missed_its_time) {
  sight s;
  s.reached();
  for (int i = 0; i < 1000; ++i) {
    s.missed(false, t0 + i * sight::time);
    EXPECT_EQ(s.current(), sight::state::doubtful);
    s.missed(false, t0 + i * sight::time + sight::time / 2);
    EXPECT_EQ(s.current(), sight::state::doubtful);
    s.reached();
    EXPECT_EQ(s.current(), sight::state::clear);
  }
}

TEST(sight, is_lost_when_all_rounds_fail_for_a_time) {
  sight s;
  s.reached();
  for (int i = 0; i < 100; ++i) s.missed(false, t0 + sight::time * i / 100);
  EXPECT_EQ(s.current(), sight::state::doubtful) << "many may fall into one short moment";
  s.missed(false, t0 + sight::time);
  EXPECT_EQ(s.current(), sight::state::blind);
  s.missed(false, t0 + sight::time);
  EXPECT_EQ(s.current(), sight::state::blind);
  s.reached();
  EXPECT_EQ(s.current(), sight::state::clear);
}

TEST(sight, is_not_lost_by_few_rounds_however_long_they_are_apart) {
  sight s;
  s.reached();
  for (int i = 1; i < sight::rounds; ++i) s.missed(false, t0 + i * 1h);
  EXPECT_EQ(s.current(), sight::state::doubtful) << "this process may have stood still";
  s.missed(false, t0 + sight::rounds * 1h);
  EXPECT_EQ(s.current(), sight::state::blind);
}

TEST(sight, is_lost_at_once_where_nothing_was_ever_seen_or_a_majority_is_cut_off) {
  sight never;
  never.missed(false, t0);
  EXPECT_EQ(never.current(), sight::state::blind);
  sight s;
  s.reached();
  s.missed(true, t0);
  EXPECT_EQ(s.current(), sight::state::blind);
}

}  // namespace
}  // namespace holdfast::core::redlock
