#include "core/sightings.hpp"
#include "core/start_fixture.hpp"

#include "gtest/gtest.h"

namespace holdfast::core {
namespace {

using namespace std::chrono_literals;

session_id id_of(std::uint32_t n) {
  session_id id;
  for (std::size_t i = 0; i < 4; ++i) id.bytes[i] = static_cast<std::uint8_t>(n >> (24 - 8 * i));
  return id;
}

const version first{.inc = 1, .beat = 1}, second{.inc = 1, .beat = 2};

TEST(sightings, a_silent_session_is_due_after_the_full_wait_and_not_before) {
  sightings notes;
  notes.note(id_of(1), first, 30s, t0);
  const time_point when = t0 + takeover_after(30s);
  EXPECT_EQ(notes.next_due(), when);
  EXPECT_TRUE(notes.due(when - 1ns).empty());
  ASSERT_EQ(notes.due(when).size(), 1u);
  EXPECT_EQ(notes.due(when)[0].at, first);
}

TEST(sightings, the_same_version_keeps_its_first_time) {
  sightings notes;
  notes.note(id_of(1), first, 30s, t0);
  notes.note(id_of(1), first, 30s, t0 + 20s);
  EXPECT_EQ(notes.next_due(), t0 + takeover_after(30s));
}

TEST(sightings, another_version_starts_anew) {
  for (const version& other : {second, version{2, 1}, version{1, 1, true}}) {
    sightings notes;
    notes.note(id_of(1), first, 30s, t0);
    notes.note(id_of(1), other, 10s, t0 + 20s);
    EXPECT_EQ(notes.next_due(), t0 + 20s + takeover_after(10s));
    EXPECT_EQ(notes.due(t0 + 1h).size(), 1u);
  }
}

TEST(sightings, an_earlier_process_note_never_replaces_ones_own) {
  sightings notes;
  notes.note(id_of(1), second, 30s, t0);
  notes.recall(id_of(1), {first, 30s, t0 - 1h});
  notes.recall(id_of(2), {first, 30s, t0 - 1h});
  ASSERT_EQ(notes.due(t0).size(), 1u);
  EXPECT_EQ(notes.due(t0)[0].id, id_of(2));
}

TEST(sightings, of_what_two_saw_the_earlier_sight_of_the_newer_version_counts) {
  sightings a, b;
  a.note(id_of(1), first, 30s, t0 + 1s);
  b.note(id_of(1), first, 30s, t0);
  a.note(id_of(2), first, 30s, t0);
  b.note(id_of(2), second, 30s, t0 + 5s);
  b.note(id_of(3), first, 30s, t0 + 9s);
  sightings both = a, other = b;
  both.merge(b);
  other.merge(a);
  for (const auto& all : {both, other}) {
    ASSERT_EQ(all.all().size(), 3u);
    EXPECT_EQ(all.all().at(id_of(1)).since, t0);
    EXPECT_EQ(all.all().at(id_of(2)).at, second);
    EXPECT_EQ(all.all().at(id_of(3)).since, t0 + 9s);
    EXPECT_EQ(all.next_due(), t0 + takeover_after(30s));
    EXPECT_EQ(all.due(t0 + 4s + takeover_after(30s)).size(), 1u);
  }
}

TEST(sightings, the_forgotten_are_never_due) {
  sightings notes;
  notes.note(id_of(1), first, 30s, t0);
  notes.forget(id_of(1));
  notes.forget(id_of(2));
  EXPECT_TRUE(notes.due(t0 + 1h).empty());
  EXPECT_FALSE(notes.next_due());
}

TEST(sightings, keeps_only_who_is_named_in_any_order) {
  sightings notes;
  for (std::uint32_t n = 1; n <= 4; ++n) notes.note(id_of(n), first, 30s, t0);
  notes.keep_only({id_of(9), id_of(3), id_of(1)});
  EXPECT_EQ(notes.all().size(), 2u);
  EXPECT_TRUE(notes.all().contains(id_of(1)) && notes.all().contains(id_of(3)));
  EXPECT_EQ(notes.due(t0 + 1h).size(), 2u);
}

TEST(sightings, are_bounded_to_the_newest_and_none_that_was_due_over_a_day_ago) {
  sightings notes;
  const auto now = t0 + 48h;
  notes.note(id_of(1), first, 30s, now - 24h - takeover_after(30s) - 1ns);
  notes.note(id_of(2), first, 30s, now - 24h - takeover_after(30s));
  for (std::uint32_t n = 3; n < 10; ++n) notes.note(id_of(n), first, 30s, now - n * 1s);
  notes.bound(100, now);
  EXPECT_FALSE(notes.all().contains(id_of(1)));
  EXPECT_EQ(notes.all().size(), 8U);
  notes.bound(3, now);
  EXPECT_EQ(notes.all().size(), 3U);
  for (std::uint32_t n = 3; n < 6; ++n) EXPECT_TRUE(notes.all().contains(id_of(n)));
  EXPECT_EQ(notes.due(now + 1h).size(), 3U);
}

// With a quadratic search this alone would take minutes.
TEST(sightings, forgets_among_very_many) {
  sightings notes;
  std::vector<session_id> keep;
  for (std::uint32_t n = 0; n < 100'000; ++n) {
    notes.note(id_of(n), first, 30s, t0);
    if (n % 2 == 0) keep.push_back(id_of(n));
  }
  notes.keep_only(keep);
  EXPECT_EQ(notes.all().size(), keep.size());
}

}  // namespace
}  // namespace holdfast::core
