#include "core/patrol.hpp"

#include "core/ledger.hpp"
#include "core/start_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace holdfast::core {
namespace {

using namespace std::chrono_literals;

constexpr duration ttl = 30s;

session_id numbered(std::uint32_t n) {
  session_id id;
  for (std::size_t i = 0; i < 4; ++i) id.bytes[i] = static_cast<std::uint8_t>(n >> (24 - 8 * i));
  return id;
}

/// A store with sessions, and a patrol that walks through it.
class patrols : public ::testing::Test {
 protected:
  std::uint64_t open(std::uint32_t n, duration its_ttl = ttl) {
    open_request r;
    r.draft.id = numbered(n);
    r.draft.ttl = its_ttl;
    return store_.open(r).at.inc;
  }
  void beat(std::uint32_t n, std::uint64_t inc) { store_.beat({numbered(n), inc, 1}); }
  std::size_t left() const { return store_.list().sessions.size(); }

  /// A whole round; what was asked for, and how many were taken.
  std::size_t round(time_point now) {
    asked_ = patrol_.begin(from_, now);
    const auto takes = patrol_.seen(store_.glance(asked_), now);
    std::size_t taken = 0;
    for (const auto& t : takes) {
      const auto r = store_.take(t);
      if (r.what == status::ok) ++taken;
      patrol_.taken(t.id, r);
    }
    EXPECT_FALSE(patrol_.under_way());
    return taken;
  }

  ledger store_;
  patrol patrol_;
  session_id from_{};
  glance_request asked_{};
};

TEST_F(patrols, takes_a_silent_session_after_the_full_wait_and_not_before) {
  open(1);
  EXPECT_EQ(round(t0), 0U);
  EXPECT_EQ(round(t0 + takeover_after(ttl) - 1ns), 0U);
  EXPECT_EQ(left(), 1U);
  EXPECT_EQ(round(t0 + takeover_after(ttl)), 1U);
  EXPECT_EQ(left(), 0U);
}

TEST_F(patrols, counts_from_the_answer_and_not_from_the_question) {
  open(1);
  const auto question = patrol_.begin(from_, t0);
  patrol_.seen(store_.glance(question), t0 + 5s);
  EXPECT_EQ(round(t0 + takeover_after(ttl)), 0U);
  EXPECT_EQ(round(t0 + 5s + takeover_after(ttl)), 1U);
}

TEST_F(patrols, never_takes_one_that_beats) {
  const auto inc = open(1);
  for (auto now = t0; now < t0 + 10min; now += 5s) {
    if ((now - t0) % 10s == 0s) beat(1, inc);
    ASSERT_EQ(round(now), 0U);
  }
  EXPECT_EQ(left(), 1U);
}

TEST_F(patrols, one_that_beats_between_the_glance_and_the_take_stays) {
  const auto inc = open(1);
  round(t0);
  const auto now = t0 + takeover_after(ttl);
  const auto takes = patrol_.seen(store_.glance(patrol_.begin(from_, now)), now);
  ASSERT_EQ(takes.size(), 1U);
  beat(1, inc);
  const auto r = store_.take(takes[0]);
  EXPECT_EQ(r.what, status::changed);
  patrol_.taken(takes[0].id, r);
  EXPECT_EQ(left(), 1U);
  EXPECT_FALSE(patrol_.notes().all().contains(numbered(1)));
}

TEST_F(patrols, one_that_is_alive_is_forgotten_and_its_wait_begins_anew) {
  const auto inc = open(1);
  round(t0);
  beat(1, inc);
  const auto again = t0 + takeover_after(ttl);
  EXPECT_EQ(round(again), 0U);
  EXPECT_EQ(round(again + takeover_after(ttl) - 1ns), 0U);
  EXPECT_EQ(round(again + takeover_after(ttl)), 1U);
}

TEST_F(patrols, one_that_is_gone_is_forgotten) {
  const auto inc = open(1);
  round(t0);
  store_.close({numbered(1), inc});
  EXPECT_EQ(round(t0 + takeover_after(ttl)), 0U);
  EXPECT_TRUE(patrol_.notes().all().empty());
}

TEST_F(patrols, a_take_of_unknown_outcome_is_looked_at_again) {
  open(1);
  round(t0);
  const auto now = t0 + takeover_after(ttl);
  const auto takes = patrol_.seen(store_.glance(patrol_.begin(from_, now)), now);
  ASSERT_EQ(takes.size(), 1U);
  take_reply lost;
  lost.what = status::unknown;
  patrol_.taken(takes[0].id, lost);
  EXPECT_EQ(round(now + 5s), 1U);
}

TEST_F(patrols, a_glance_that_failed_ends_its_round_and_changes_nothing) {
  open(1);
  round(t0);
  const auto now = t0 + takeover_after(ttl);
  patrol_.begin(from_, now);
  EXPECT_FALSE(patrol_.may_begin(now + 1h)) << "one round at a time";
  glance_reply failed;
  failed.what = status::unavailable;
  EXPECT_TRUE(patrol_.seen(failed, now).empty());
  EXPECT_EQ(round(now + 5s), 1U);
}

TEST_F(patrols, a_round_asks_for_a_few_however_many_there_are) {
  for (std::uint32_t n = 0; n < 5000; ++n) open(n);
  for (auto now = t0; now < t0 + 5min; now += 5s) {
    from_ = numbered(static_cast<std::uint32_t>((now - t0) / 1s) * 16);
    round(now);
    ASSERT_LE(asked_.whom.size(), patrol::most);
    ASSERT_LE(asked_.others, patrol::most);
    ASSERT_FALSE(asked_.whole);
  }
}

TEST_F(patrols, notes_no_more_than_it_has_room_for) {
  for (std::uint32_t n = 0; n < 5000; ++n) open(n, 1h);
  auto now = t0;
  for (std::uint32_t n = 0; n < 5000; n += patrol::most, now += 1s) {
    from_ = numbered(n);
    round(now);
  }
  EXPECT_EQ(patrol_.notes().all().size(), patrol::noted_most);
  EXPECT_EQ(asked_.others, 0U);
  EXPECT_EQ(round(t0 + 2h), patrol::most) << "and those that it has go on";
}

TEST_F(patrols, rounds_keep_their_pause_however_often_it_is_asked) {
  EXPECT_TRUE(patrol_.may_begin(t0));
  round(t0);
  EXPECT_FALSE(patrol_.may_begin(t0 + patrol::pause - 1ns));
  EXPECT_TRUE(patrol_.may_begin(t0 + patrol::pause));
  EXPECT_EQ(patrol_.next(), time_point::max());
}

TEST_F(patrols, among_the_dead_it_goes_faster_until_there_are_none_any_more) {
  for (std::uint32_t n = 0; n < 8; ++n) open(n);
  round(t0);
  const auto now = t0 + takeover_after(ttl);
  EXPECT_EQ(round(now), 8U);
  EXPECT_EQ(patrol_.next(), time_point::max()) << "nobody is noted";
  for (std::uint32_t n = 0; n < 40; ++n) open(n);
  round(now);
  from_ = numbered(patrol::most);
  round(now + 1s);
  const auto later = now + 1s + takeover_after(ttl);
  EXPECT_EQ(round(later), patrol::most);
  EXPECT_EQ(patrol_.next(), later + patrol::pause_among_dead);
  EXPECT_FALSE(patrol_.may_begin(later + patrol::pause_among_dead - 1ns));
  EXPECT_TRUE(patrol_.may_begin(later + patrol::pause_among_dead));
}

TEST_F(patrols, among_the_living_it_takes_its_time) {
  std::vector<std::uint64_t> incs;
  for (std::uint32_t n = 0; n < patrol::most; ++n) incs.push_back(open(n));
  round(t0);
  for (std::uint32_t n = 0; n < 5; ++n) beat(n, incs[n]);
  EXPECT_EQ(round(t0 + takeover_after(ttl)), patrol::most - 5);
  EXPECT_EQ(patrol_.next(), time_point::max());
}

// The promise in docs/redis.md: so many in a second for each store that a process has open.
TEST_F(patrols, thousands_of_dead_are_gone_after_their_number_of_rounds) {
  constexpr std::uint32_t dead = 2000;
  for (std::uint32_t n = 0; n < dead; ++n) open(n * 1000);
  auto now = t0;
  std::uint32_t place = 7;
  while (left() > 0 && now < t0 + 1h) {
    place = place * 1664525 + 1013904223;
    from_ = numbered(place % (dead * 1000));
    if (patrol_.may_begin(now)) round(now);
    now += 500ms;
  }
  // A round each 5 s until the first are due, and then two in each second; some of those that it
  // is shown are noted already.
  EXPECT_LE(now, t0 + takeover_after(ttl) + 3 * 500ms * (dead / patrol::most) + 100s);
}

}  // namespace
}  // namespace holdfast::core
