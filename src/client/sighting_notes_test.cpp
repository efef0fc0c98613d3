#include "client/sighting_notes.hpp"

#include "io/thread/random.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::client {
namespace {

using namespace std::chrono_literals;

// As many sessions as a program has met, each of them once.
TEST(sighting_notes, without_a_file_are_bounded_to_the_newest) {
  sighting_notes notes(std::nullopt);
  std::vector<core::rival> all;
  const auto began = clock::now() - 1h;
  for (int n = 0; n < 5'000; ++n) {
    core::rival r;
    r.owner = io::random_session_id();
    r.ttl = 30s;
    core::sightings seen;
    seen.note(r.owner, r.at, r.ttl, began + n * 1ms);
    notes.keep(seen);
    all.push_back(r);
  }
  EXPECT_LE(notes.recall(all).all().size(), 2 * io::sighting_file::sights_max);
  const std::vector<core::rival> newest(all.end() - io::sighting_file::sights_max, all.end());
  EXPECT_EQ(notes.recall(newest).all().size(), io::sighting_file::sights_max);
}

TEST(sighting_notes, of_a_store_are_kept_for_who_opens_it_later_in_this_process) {
  core::rival whom;
  whom.owner = io::random_session_id();
  whom.ttl = 30s;
  core::sightings seen;
  const auto then = clock::now() - 1min;
  seen.note(whom.owner, whom.at, whom.ttl, then);
  sighting_notes(std::nullopt, "one").keep(seen);

  const auto later = sighting_notes(std::nullopt, "one").recall({whom});
  ASSERT_EQ(later.all().size(), 1U);
  EXPECT_EQ(later.all().begin()->second.since, then);
  EXPECT_TRUE(sighting_notes(std::nullopt, "another").recall({whom}).all().empty());
  sighting_notes(std::nullopt).keep(seen);
  EXPECT_TRUE(sighting_notes(std::nullopt).recall({whom}).all().empty()) << "of no store";
  whom.at.beat += 1;
  EXPECT_TRUE(sighting_notes(std::nullopt, "one").recall({whom}).all().empty()) << "it is alive";
}

}  // namespace
}  // namespace holdfast::client
