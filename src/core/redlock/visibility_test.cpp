#include "core/redlock/visibility.hpp"

#include "core/start_fixture.hpp"

#include "gtest/gtest.h"

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;

TEST(visibility, is_not_lost_by_a_round_that_missed_its_time) {
  visibility s;
  s.reached();
  for (int i = 0; i < 1000; ++i) {
    s.missed(false, t0 + i * visibility::time);
    EXPECT_EQ(s.current(), visibility::state::doubtful);
    s.missed(false, t0 + i * visibility::time + visibility::time / 2);
    EXPECT_EQ(s.current(), visibility::state::doubtful);
    s.reached();
    EXPECT_EQ(s.current(), visibility::state::clear);
  }
}

TEST(visibility, is_lost_when_all_rounds_fail_for_a_time) {
  visibility s;
  s.reached();
  for (int i = 0; i < 100; ++i) s.missed(false, t0 + visibility::time * i / 100);
  EXPECT_EQ(s.current(), visibility::state::doubtful) << "many may fall into one short moment";
  s.missed(false, t0 + visibility::time);
  EXPECT_EQ(s.current(), visibility::state::blind);
  s.missed(false, t0 + visibility::time);
  EXPECT_EQ(s.current(), visibility::state::blind);
  s.reached();
  EXPECT_EQ(s.current(), visibility::state::clear);
}

TEST(visibility, is_not_lost_by_few_rounds_however_long_they_are_apart) {
  visibility s;
  s.reached();
  for (int i = 1; i < visibility::rounds; ++i) s.missed(false, t0 + i * 1h);
  EXPECT_EQ(s.current(), visibility::state::doubtful) << "this process may have stood still";
  s.missed(false, t0 + visibility::rounds * 1h);
  EXPECT_EQ(s.current(), visibility::state::blind);
}

TEST(visibility, rounds_from_before_one_that_saw_enough_count_no_more) {
  visibility s;
  s.reached();
  for (int i = 1; i < visibility::rounds; ++i) s.missed(false, t0);
  s.reached();
  s.missed(false, t0 + 1h);
  s.missed(false, t0 + 2h);
  EXPECT_EQ(s.current(), visibility::state::doubtful);
}

TEST(visibility, is_lost_at_once_where_nothing_was_ever_seen_or_a_majority_is_cut_off) {
  visibility never;
  never.missed(false, t0);
  EXPECT_EQ(never.current(), visibility::state::blind);
  visibility s;
  s.reached();
  s.missed(true, t0);
  EXPECT_EQ(s.current(), visibility::state::blind);
}

}  // namespace
}  // namespace holdfast::core::redlock
