#include "io/file/life_notes_file.hpp"
#include "tests/grouping_locale.hpp"
#include "tests/own_namespaces.hpp"
#include "tests/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

TEST(life_notes_file, gives_another_process_what_was_kept) {
  const tests::temporary_directory directory;
  const time_point seen = clock::now() - 1s;
  core::redlock::life_notes notes;
  notes.recall("life", seen);
  life_notes_file(directory.path(), "redlock://a").keep(notes);
  const auto read = life_notes_file(directory.path(), "redlock://a").read();
  EXPECT_EQ(read.all(), notes.all());
  EXPECT_TRUE(life_notes_file(directory.path(), "redlock://b").read().all().empty());
}

TEST(life_notes_file, of_a_directory_that_is_a_link_are_not_read) {
  const tests::temporary_directory directory;
  const std::string real = directory.path() + "/real";
  const std::string link = directory.path() + "/link";
  core::redlock::life_notes notes;
  notes.recall("life", clock::now() - 1s);
  life_notes_file(real, "redlock://a").keep(notes);
  std::filesystem::create_directory_symlink(real, link);
  EXPECT_FALSE(life_notes_file(real, "redlock://a").read().all().empty());
  EXPECT_TRUE(life_notes_file(link, "redlock://a").read().all().empty());
}

TEST(life_notes_file, a_later_time_namespace_of_the_same_number_reads_nothing) {
  const tests::temporary_directory directory;
  const auto read = [&] { return life_notes_file(directory.path(), "redis://a").read().all(); };
  const int code = tests::in_a_reused_namespace(
      [&] {
        core::redlock::life_notes notes;
        notes.recall("life", clock::now());
        life_notes_file(directory.path(), "redis://a").keep(notes);
        return read().size() == 1 ? 0 : 1;
      },
      [&] { return read().empty() ? 0 : 2; });
  if (code == tests::cannot_shift_time) GTEST_SKIP() << "NOT TESTED: no time namespace here";
  EXPECT_EQ(code, 0);
}

TEST(life_notes_file, a_server_cannot_write_the_note_of_another) {
  const tests::temporary_directory directory;
  const time_point seen = clock::now() - 1s;
  core::redlock::life_notes notes;
  notes.recall("victim", seen);
  notes.recall("victim 1", seen + 1ms);
  notes.recall("x 1\nvictim 1", seen + 2ms);
  life_notes_file(directory.path(), "redlock://a").keep(notes);
  auto read = life_notes_file(directory.path(), "redlock://a").read();
  EXPECT_EQ(read.all().size(), 1U);
  EXPECT_EQ(read.note("victim", clock::now()), seen);
}

TEST(life_notes_file, is_the_same_in_programs_of_all_locales) {
  const tests::temporary_directory directory;
  const time_point seen = clock::now() - 1s;
  core::redlock::life_notes notes;
  notes.recall("life", seen);
  const life_notes_file plain(directory.path(), "redis://a");
  {
    const tests::grouping_locale until_read;
    plain.keep(notes);
    EXPECT_EQ(plain.read(), notes);
    EXPECT_EQ(life_notes_file(directory.path(), "redis://a").read(), notes) << "the namespace";
  }
  EXPECT_EQ(plain.read(), notes);
}

TEST(life_notes_file, a_line_that_is_not_whole_is_not_known) {
  const tests::temporary_directory directory;
  core::redlock::life_notes notes;
  notes.recall("life", clock::now() - 1s);
  const life_notes_file file(directory.path(), "redis://a");
  file.keep(notes);
  std::string path;
  for (const auto& one : std::filesystem::directory_iterator(directory.path())) {
    if (one.path().extension() != ".lock") path = one.path();
  }
  const auto ahead = (clock::now() + 1h).time_since_epoch().count();
  std::ofstream(path, std::ios::app)
      << "grouped 30,605,697\nmore 30 x\n 30\nnone\nzero 0\nbelow -30\nahead " +
             std::to_string(ahead) + "\nlast 30\ncut 3";
  const auto read = file.read().all();
  EXPECT_EQ(read.size(), 2U);
  EXPECT_TRUE(read.contains("life"));
  EXPECT_TRUE(read.contains("last"));
}

TEST(life_notes_file, tells_why_the_next_process_will_not_have_them) {
  const tests::temporary_directory directory;
  const std::string file = directory.path() + "/file";
  std::ofstream(file) << "no directory";
  core::redlock::life_notes notes;
  notes.recall("life", clock::now());
  const life_notes_file good(directory.path() + "/new", "redis://a");
  EXPECT_EQ(good.keep(notes).trouble, "");
  const auto bad = life_notes_file(file + "/state", "redis://a").keep(notes);
  EXPECT_NE(bad.trouble.find(file), std::string::npos) << bad.trouble;
  EXPECT_NE(bad.trouble.find("XDG_STATE_HOME"), std::string::npos) << bad.trouble;
  EXPECT_TRUE(bad.there.all().empty());
  EXPECT_NE(life_notes_file("", "redis://a").keep(notes).trouble, "");
}

TEST(life_notes_file, adds_to_what_others_wrote) {
  const tests::temporary_directory directory;
  const time_point seen = clock::now() - 1s;
  core::redlock::life_notes mine;
  mine.recall("mine", seen);
  mine.recall("both", seen);
  core::redlock::life_notes theirs;
  theirs.recall("theirs", seen);
  theirs.recall("both", seen - 1s);
  const life_notes_file file(directory.path(), "redlock://a");
  EXPECT_EQ(file.keep(theirs).there, theirs);
  const auto all = file.keep(mine).there;
  EXPECT_EQ(all.all().size(), 3U);
  EXPECT_EQ(all.all().at("both"), seen - 1s);
  EXPECT_EQ(file.read(), all);
}

/// Forks a process that adds forty notes, one by one.
pid_t writer_of(const life_notes_file& file, const std::string& name) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  bool kept = true;
  for (int i = 0; i < 40; ++i) {
    core::redlock::life_notes notes;
    notes.recall(name + std::to_string(i), clock::now());
    kept = kept && file.keep(notes).trouble.empty();
  }
  ::_exit(kept ? 0 : 1);
}

TEST(life_notes_file, two_processes_that_write_at_once_lose_nothing) {
  const tests::temporary_directory directory;
  const life_notes_file file(directory.path(), "redlock://a");
  for (const pid_t child : {writer_of(file, "one"), writer_of(file, "two")}) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(file.read().all().size(), 80U);
}

/// Looked at once more after the first note of it, which says nothing of what was synced.
core::redlock::life_notes keep_durable(const life_notes_file& file, const std::string& node,
                                       const std::string& run_id) {
  core::redlock::life_notes notes;
  // A host may have been up for no longer: what is from before its start is no note.
  notes.note_process(node, run_id, true, clock::now() - 1s);
  notes = file.keep(notes).there;
  EXPECT_FALSE(notes.is_durable(node, run_id));
  notes.note_process(node, run_id, true, clock::now());
  EXPECT_EQ(file.keep(notes).trouble, "");
  return notes;
}

TEST(life_notes_file, what_a_node_was_stays_when_there_are_too_many) {
  const tests::temporary_directory directory;
  const time_point seen = clock::now() - 1s;
  const life_notes_file file(directory.path(), "redlock://a");
  core::redlock::life_notes notes = keep_durable(file, "a", "r1");
  for (int i = 0; i < 300; ++i) notes.recall("n" + std::to_string(i), seen + i * 1ms + 1ms);
  EXPECT_EQ(file.keep(notes).there.all().size(), core::redlock::life_notes::notes_max);
  EXPECT_TRUE(file.read().is_durable("a", "r1"));
}

TEST(life_notes_file, without_a_boot_id_there_are_no_notes_and_that_is_told) {
  const tests::temporary_directory directory;
  core::redlock::life_notes notes;
  notes.recall("life", clock::now() - 1s);
  life_notes_file(directory.path(), "redlock://a").keep(notes);
  const int code = tests::under_boot_id("", [&] {
    const life_notes_file file(directory.path(), "redlock://a");
    const auto kept = file.keep(notes);
    if (kept.trouble.find("boot id") == std::string::npos || !kept.there.all().empty()) return 1;
    return file.read().all().empty() && !file.has_place() ? 0 : 2;
  });
  if (code == tests::cannot_mount) GTEST_SKIP() << "NOT TESTED: needs root, to mount";
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(life_notes_file(directory.path(), "redlock://a").read().all().empty())
      << "who could not write has seen what these notes do not tell";
}

/// Else the next program would take what comes after it for a process that follows a durable one.
TEST(life_notes_file, notes_that_say_too_much_and_cannot_be_replaced_are_removed) {
  const tests::temporary_directory directory;
  const life_notes_file file(directory.path(), "redlock://a");
  const auto notes = keep_durable(file, "a", "r1");
  // Where the new file would be written there is something that cannot be removed.
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    const std::string path = entry.path();
    if (!path.ends_with(".lock")) std::filesystem::create_directories(path + ".new/full");
  }
  core::redlock::life_notes more = notes;
  more.recall("life", clock::now());
  auto kept = file.keep(more);
  EXPECT_NE(kept.trouble, "");
  EXPECT_EQ(kept.there, notes) << "they are as true as before";
  more.note_process("a", "r2", false, clock::now());
  kept = file.keep(more);
  EXPECT_NE(kept.trouble, "");
  EXPECT_TRUE(kept.there.all().empty());
  EXPECT_TRUE(file.read().all().empty());
}

}  // namespace
}  // namespace holdfast::io
