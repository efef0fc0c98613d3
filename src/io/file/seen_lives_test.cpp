#include "io/file/seen_lives.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;
using core::redlock::life_notes;

const time_point then{1h};

life_notes sight_of(const std::string& life, time_point since = then) {
  life_notes notes;
  notes.recall(life, since);
  return notes;
}

TEST(seen_lives, are_known_to_who_opens_the_same_store_later) {
  EXPECT_TRUE(lives_seen("same").all().empty());
  remember_lives("same", sight_of("one"));
  remember_lives("same", sight_of("two", then + 1s));
  remember_lives("same", sight_of("one", then + 5s));
  auto seen = sight_of("one");
  seen.recall("two", then + 1s);
  EXPECT_EQ(lives_seen("same"), seen) << "the first sight of each";
  EXPECT_TRUE(lives_seen("another").all().empty());
}

TEST(seen_lives, say_nothing_of_what_was_synced) {
  life_notes notes;
  notes.note_process("host:1", "run", true, then);
  remember_lives("synced", notes);
  EXPECT_EQ(lives_seen("synced"), sight_of("run"));
}

TEST(seen_lives, of_one_store_are_no_more_than_its_notes) {
  for (int i = 0; i < 300; ++i) remember_lives("full", sight_of(std::to_string(i), then + i * 1s));
  EXPECT_EQ(lives_seen("full").all().size(), life_notes::notes_max);
  EXPECT_TRUE(lives_seen("full").all().contains("299"));
}

}  // namespace
}  // namespace holdfast::io
