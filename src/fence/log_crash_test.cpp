#include "core/rounds_fixture.hpp"
#include "tests/fence/log_story.hpp"

#include <gtest/gtest.h>

/// The power goes at every single write, sync, link and other change.

namespace holdfast {
namespace {

using tests::log_story;

/// How many changes a story makes that nobody interrupts.
std::uint64_t length_of(std::uint64_t seed, int steps) {
  log_story story(seed);
  story.play(steps, false);
  return story.machine().disk().calls();
}

TEST(log_crash, at_every_change_of_random_stories) {
  constexpr int steps = 40;
  const int stories = core::shortened(core::rounds(20, 2'000));
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(stories); ++seed) {
    const std::uint64_t changes = length_of(seed, steps);
    for (std::uint64_t at = 1; at <= changes; ++at) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", change " + std::to_string(at));
      log_story story(seed);
      story.machine().disk().lose_power_at(at);
      story.play(steps, false);
      story.recover();
      if (HasFailure()) return;
      // And it goes on from there.
      story.play(10, false);
      story.look();
      if (HasFailure()) return;
    }
  }
}

TEST(log_crash, again_while_it_recovers) {
  const int stories = core::shortened(core::rounds(20, 1'000));
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(stories); ++seed) {
    for (std::uint64_t at = 1; at <= 12; ++at) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", change " + std::to_string(at));
      log_story story(seed);
      story.machine().disk().lose_power_at(20 + seed);
      story.play(60, false);
      story.machine().lose_power();
      story.machine().disk().lose_power_at(at);
      (void)story.machine().open(1'000);
      story.recover_with(1'001);
      if (HasFailure()) return;
      story.look();
      if (HasFailure()) return;
    }
  }
}

TEST(log_crash, a_reader_is_told_what_is_on_the_disk_before_a_writer_comes) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    tests::log_machine m(seed);
    const auto log = m.must_open(1);
    ASSERT_TRUE(log->append(tests::bytes_of("a"), survives::power_loss));
    m.lose_power();
    ASSERT_EQ(m.all(survives::power_loss), std::vector<std::string>{"a"});
  }
}

TEST(log_crash, a_reader_says_not_that_there_is_nothing_where_a_mark_is_missing) {
  tests::log_machine m(1);
  const auto log = m.must_open(1);
  ASSERT_TRUE(log->append(tests::bytes_of("a"), survives::power_loss));
  m.disk().forget("mark.1.1.0");
  const auto reader = m.must_read({.durability = survives::power_loss});
  const auto got = reader->next();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error(), errc::unavailable);
  EXPECT_NE(got.error().message().find("mark.1.1.0"), std::string::npos);
  EXPECT_EQ(m.all(), std::vector<std::string>{"a"});
  ASSERT_TRUE(m.open(2));
  EXPECT_TRUE(*reader->next());
}

}  // namespace
}  // namespace holdfast
