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

}  // namespace
}  // namespace holdfast::client
