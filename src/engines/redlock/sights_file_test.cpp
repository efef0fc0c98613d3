#include "engines/redlock/sights_file.hpp"
#include "tests/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::engines::redlock {
namespace {

using namespace std::chrono_literals;

TEST(sights_file, gives_another_process_what_was_kept) {
  const tests::temporary_directory directory;
  const time_point seen = clock::now() - 1s;
  core::redlock::first_sights notes;
  notes.recall("life", seen);
  sights_file(directory.path(), "redlock://a").keep(notes);
  const auto read = sights_file(directory.path(), "redlock://a").read();
  EXPECT_EQ(read.all(), notes.all());
  EXPECT_TRUE(sights_file(directory.path(), "redlock://b").read().all().empty());
}

TEST(sights_file, a_server_cannot_write_the_note_of_another) {
  const tests::temporary_directory directory;
  const time_point seen = clock::now() - 1s;
  core::redlock::first_sights notes;
  notes.recall("victim", seen);
  notes.recall("victim 1", seen + 1ms);
  notes.recall("x 1\nvictim 1", seen + 2ms);
  sights_file(directory.path(), "redlock://a").keep(notes);
  auto read = sights_file(directory.path(), "redlock://a").read();
  EXPECT_EQ(read.all().size(), 1U);
  EXPECT_EQ(read.note("victim", clock::now()), seen);
}

}  // namespace
}  // namespace holdfast::engines::redlock
