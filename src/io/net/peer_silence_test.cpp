#include "io/net/peer_silence.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

constexpr time_point at(duration since_start) { return time_point{} + since_start; }

TEST(peer_silence, of_a_peer_that_owes_nothing_lasts_for_ever) {
  peer_silence s(10s);
  EXPECT_EQ(s.over_at(), time_point::max());
  s.heard();
  EXPECT_EQ(s.over_at(), time_point::max());
}

TEST(peer_silence, counts_from_the_first_answer_that_was_late) {
  peer_silence s(10s);
  s.late(at(3s));
  s.late(at(8s));
  EXPECT_EQ(s.over_at(), at(13s));
}

TEST(peer_silence, ends_with_whatever_comes_and_counts_anew) {
  peer_silence s(10s);
  s.late(at(3s));
  s.heard();
  EXPECT_EQ(s.over_at(), time_point::max());
  s.late(at(20s));
  EXPECT_EQ(s.over_at(), at(30s));
}

TEST(peer_silence, that_is_none_delays_no_look) {
  peer_silence s(10s);
  EXPECT_EQ(s.look_at(at(1s), at(1s)), at(1s));
  s.late(at(1s));
  s.heard();
  EXPECT_EQ(s.look_at(at(9s), at(8s)), at(9s));
}

TEST(peer_silence, delays_looks_by_a_share_of_itself_and_no_more_than_2_ms) {
  peer_silence s(10s);
  s.late(at(1s));
  EXPECT_EQ(s.look_at(at(1s), at(1s)), at(1s)) << "it has just begun";
  EXPECT_EQ(s.look_at(at(1s), at(1s + 16ms)), at(1s + 17ms));
  EXPECT_EQ(s.look_at(at(1s), at(9s)), at(9s + 2ms));
  EXPECT_EQ(s.look_at(at(9s + 3ms), at(9s)), at(9s + 3ms)) << "nothing is due before";
  EXPECT_EQ(s.look_at(time_point::max(), at(9s)), time_point::max());
}

}  // namespace
}  // namespace holdfast::io
