#include "core/rounds_fixture.hpp"
#include "tests/fence/log_story.hpp"

#include <gtest/gtest.h>

/// Random sequences of calls against a list of records.

namespace holdfast {
namespace {

using tests::log_story;

void play(bool crashes, std::uint64_t from, int count) {
  for (int i = 0; i < count; ++i) {
    const std::uint64_t seed = from + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("seed " + std::to_string(seed));
    log_story story(seed);
    story.play(20, crashes);
    story.look();
    if (testing::Test::HasFailure()) return;
  }
}

TEST(log_model, holds_for_random_calls_of_writers_that_replace_each_other) {
  play(false, 1, core::shortened(core::rounds(2'000, 500'000)));
}

TEST(log_model, holds_for_random_calls_with_power_losses_between_them) {
  play(true, 1'000'000'000, core::shortened(core::rounds(2'000, 500'000)));
}

}  // namespace
}  // namespace holdfast
