#include "io/first_sights_file.hpp"
#include "tests/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

TEST(first_sights_file, gives_another_process_what_was_kept) {
  const tests::temporary_directory directory;
  const time_point seen = clock::now() - 1s;
  core::redlock::first_sights notes;
  notes.recall("life", seen);
  first_sights_file(directory.path(), "redlock://a").keep(notes);
  const auto read = first_sights_file(directory.path(), "redlock://a").read();
  EXPECT_EQ(read.all(), notes.all());
  EXPECT_TRUE(first_sights_file(directory.path(), "redlock://b").read().all().empty());
}

TEST(first_sights_file, a_server_cannot_write_the_note_of_another) {
  const tests::temporary_directory directory;
  const time_point seen = clock::now() - 1s;
  core::redlock::first_sights notes;
  notes.recall("victim", seen);
  notes.recall("victim 1", seen + 1ms);
  notes.recall("x 1\nvictim 1", seen + 2ms);
  first_sights_file(directory.path(), "redlock://a").keep(notes);
  auto read = first_sights_file(directory.path(), "redlock://a").read();
  EXPECT_EQ(read.all().size(), 1U);
  EXPECT_EQ(read.note("victim", clock::now()), seen);
}

}  // namespace
}  // namespace holdfast::io
