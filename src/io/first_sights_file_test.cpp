#include "io/first_sights_file.hpp"
#include "tests/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>

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

TEST(first_sights_file, tells_why_the_next_process_will_not_have_them) {
  const tests::temporary_directory directory;
  const std::string file = directory.path() + "/file";
  std::ofstream(file) << "no directory";
  core::redlock::first_sights notes;
  notes.recall("life", clock::now());
  first_sights_file good(directory.path() + "/new", "redis://a");
  good.keep(notes);
  EXPECT_EQ(good.trouble(), "");
  first_sights_file bad(file + "/state", "redis://a");
  bad.keep(notes);
  EXPECT_NE(bad.trouble().find(file), std::string::npos) << bad.trouble();
  EXPECT_NE(bad.trouble().find("XDG_STATE_HOME"), std::string::npos) << bad.trouble();
  first_sights_file homeless("", "redis://a");
  homeless.keep(notes);
  EXPECT_NE(homeless.trouble(), "");
}

}  // namespace
}  // namespace holdfast::io
