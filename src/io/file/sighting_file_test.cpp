#include "io/file/sighting_file.hpp"

#include "io/file/file_lock.hpp"
#include "io/thread/random.hpp"
#include "tests/grouping_locale.hpp"
#include "tests/own_namespaces.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

class sighting_file_test : public ::testing::Test {
 protected:
  sighting_file_test() {
    std::string pattern = ::testing::TempDir() + "sightings-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~sighting_file_test() override { std::filesystem::remove_all(directory_); }

  sighting_file file(const std::string& url = "local:/s") const {
    return {directory_ + "/deep/notes", url};
  }
  static std::string text(const std::string& path) {
    std::ostringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
  }
  static void put(const std::string& path, const std::string& t) {
    std::ofstream(path, std::ios::trunc) << t;
  }

  std::string directory_;
  session_id id_ = random_session_id();
  core::version at_{7, 3, false};
  time_point then_ = clock::now() - 5s;
};

TEST_F(sighting_file_test, is_its_owners_to_read_and_write_whatever_the_umask) {
  const mode_t before = ::umask(0777);
  file().merge({});
  ::umask(before);
  std::size_t files = 0;
  for (const auto& at : std::filesystem::directory_iterator(directory_ + "/deep/notes")) {
    struct stat there {};
    ASSERT_EQ(::stat(at.path().c_str(), &there), 0);
    EXPECT_EQ(there.st_mode & 07777U, 0600U) << at.path();
    ++files;
  }
  EXPECT_GE(files, 1U);
}

TEST_F(sighting_file_test, the_next_process_reads_what_the_first_one_kept) {
  core::sightings seen;
  seen.note(id_, at_, 30s, then_);
  file().merge(seen);
  const auto read = file().read();
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read.at(id_).at, at_);
  EXPECT_EQ(read.at(id_).ttl, duration{30s});
  EXPECT_EQ(read.at(id_).since, then_);
}

TEST_F(sighting_file_test, a_later_time_namespace_of_the_same_number_reads_nothing) {
  const int code = tests::in_a_reused_namespace(
      [&] {
        core::sightings seen;
        seen.note(id_, at_, 30s, clock::now());
        file().merge(seen);
        return file().read().size() == 1 ? 0 : 1;
      },
      [&] { return file().read().empty() ? 0 : 2; });
  if (code == tests::cannot_shift_time) GTEST_SKIP() << "NOT TESTED: no time namespace here";
  EXPECT_EQ(code, 0);
}

TEST_F(sighting_file_test, a_process_that_cannot_tell_its_clock_leaves_what_others_wrote) {
  core::sightings seen;
  seen.note(id_, at_, 30s, then_);
  file().merge(seen);
  const pid_t child = ::fork();
  if (child == 0) {
    // Of the two namespaces of this process the offsets of the other one can be read.
    if (::unshare(CLONE_NEWTIME) != 0) ::_exit(tests::cannot_shift_time);
    file().merge({});
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == tests::cannot_shift_time) GTEST_SKIP() << "NOT TESTED: needs root";
  EXPECT_EQ(file().read().size(), 1U);
}

TEST_F(sighting_file_test, processes_of_two_time_namespaces_leave_each_others_notes) {
  core::sightings seen;
  seen.note(id_, at_, 30s, then_);
  file().merge(seen);
  const int code = tests::ahead_of_boot(1000, [&] {
    core::sightings theirs;
    theirs.note(random_session_id(), at_, 30s, clock::now());
    file().merge(theirs);
    return file().read().size() == 1 ? 0 : 1;
  });
  if (code == tests::cannot_shift_time) GTEST_SKIP() << "NOT TESTED: no time namespace here";
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(file().read().contains(id_));
}

TEST_F(sighting_file_test, nothing_of_earlier_boots_or_of_killed_writers_is_left) {
  file().merge({});
  auto old = text(file().path());
  old.replace(old.find('\n', old.find('\n') + 1) + 1, 4, "zzzz");
  const std::string before = file().path() + "0";
  put(before, old);
  put(file().path() + ".new", "half");
  put(directory_ + "/deep/notes/another", old);
  std::filesystem::remove(file().path());
  file().merge({});
  EXPECT_TRUE(std::filesystem::exists(file().path()));
  EXPECT_FALSE(std::filesystem::exists(before));
  EXPECT_FALSE(std::filesystem::exists(file().path() + ".new"));
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/deep/notes/another"));
}

TEST_F(sighting_file_test, the_earlier_time_wins_for_one_version_and_a_newer_version_for_all) {
  core::sightings first;
  first.note(id_, at_, 30s, then_);
  file().merge(first);
  core::sightings later;
  later.note(id_, at_, 30s, then_ + 1s);
  EXPECT_EQ(file().merge(later).all().at(id_).since, then_);
  core::sightings beaten;
  beaten.note(id_, {7, 4, false}, 30s, then_ + 2s);
  EXPECT_EQ(file().merge(beaten).all().at(id_).at.beat, 4U);
}

TEST_F(sighting_file_test, is_the_same_in_programs_of_all_locales) {
  const core::version at{7'000, 3'000, true};
  core::sightings seen;
  seen.note(id_, at, 30s, then_);
  {
    const tests::grouping_locale until_read;
    file().merge(seen);
  }
  const auto read = file().read();
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read.at(id_).at, at);
  EXPECT_EQ(read.at(id_).since, then_);
}

TEST_F(sighting_file_test, a_line_that_is_not_whole_is_not_known) {
  file().merge({});
  const auto head = text(file().path());
  const auto id = [] { return random_session_id().str(); };
  put(file().path(), head + id() + " 7 3 0 1,000 30\n" + id() + " 7 3 0 1000 30,605\n" + id() +
                         " 7 3 2 1000 30\n" + id() + " 7 3 0 1000 30 1\n" + id_.str() +
                         " 7 3 0 1000 30\n" + id() + " 7 3 0 1000 3");
  const auto read = file().read();
  EXPECT_EQ(read.size(), 1U);
  EXPECT_TRUE(read.contains(id_));
}

TEST_F(sighting_file_test, is_private_and_bounded) {
  core::sightings seen;
  for (std::size_t i = 0; i < sighting_file::sights_max + 50; ++i) {
    seen.note(random_session_id(), at_, 30s, then_);
  }
  file().merge(seen);
  EXPECT_EQ(file().read().size(), sighting_file::sights_max);
  struct stat s {};
  ASSERT_EQ(::stat(file().path().c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 07777, 0600U);
}

TEST_F(sighting_file_test, notes_of_another_boot_store_or_the_future_are_ignored) {
  core::sightings seen;
  seen.note(id_, at_, 30s, then_);
  file().merge(seen);
  const auto good = text(file().path());
  auto boot = good;
  boot.replace(boot.find('\n', boot.find('\n') + 1) + 1, 4, "zzzz");
  put(file().path(), boot);
  EXPECT_TRUE(file().read().empty());
  auto url = good;
  url.replace(url.find("local:/s"), 8, "local:/t");
  put(file().path(), url);
  EXPECT_TRUE(file().read().empty());
  core::sightings future;
  future.note(id_, at_, 30s, clock::now() + 1h);
  std::filesystem::remove(file().path());
  file().merge(future);
  EXPECT_TRUE(file().read().empty());
  put(file().path(), good);
  EXPECT_EQ(file().read().size(), 1U);
}

/// Forks a process that adds forty notes, one by one.
pid_t writer_of(const sighting_file& file) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  for (int i = 0; i < 40; ++i) {
    core::sightings seen;
    seen.note(random_session_id(), {7, 3, false}, 30s, clock::now());
    file.merge(seen);
  }
  ::_exit(0);
}

TEST_F(sighting_file_test, two_processes_that_write_at_once_lose_nothing) {
  const sighting_file patient(directory_ + "/notes", "local:/s", 30s);
  for (const pid_t child : {writer_of(patient), writer_of(patient)}) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(patient.read().size(), 80U);
}

TEST_F(sighting_file_test, who_is_stopped_amid_his_turn_holds_up_nobody_for_long) {
  core::sightings seen;
  seen.note(id_, at_, 30s, then_);
  const sighting_file hasty(directory_ + "/notes", "local:/s", 1ms);
  hasty.merge(seen);
  const std::string lock = hasty.path().substr(0, hasty.path().rfind('-')) + ".lock";
  const int other = ::open(lock.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(other, 0);
  ASSERT_TRUE(*try_lock_byte(other, 0, share::alone));
  put(hasty.path() + ".new", "what he was about to name");
  seen.note(random_session_id(), at_, 30s, then_);
  hasty.merge(seen);
  EXPECT_EQ(hasty.read().size(), 2U);
  EXPECT_EQ(text(hasty.path() + ".new"), "what he was about to name") << "it is his to name";
  ::close(other);
}

// A line that ends early is one of an earlier time: who is in it would be taken over too soon.
TEST_F(sighting_file_test, what_was_written_in_part_replaces_nothing) {
  core::sightings seen;
  seen.note(id_, at_, 30s, then_);
  file().merge(seen);
  const auto good = text(file().path());
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit little{good.size() + 20, good.size() + 20};
    ::signal(SIGXFSZ, SIG_IGN);
    if (::setrlimit(RLIMIT_FSIZE, &little) != 0) ::_exit(1);
    seen.note(random_session_id(), at_, 30s, then_);
    file().merge(seen);
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text(file().path()), good);
  EXPECT_FALSE(std::filesystem::exists(file().path() + ".new"));
}

TEST_F(sighting_file_test, a_line_with_a_number_that_no_sight_has_is_not_known) {
  file().merge({});
  const auto head = text(file().path());
  const std::string longest = std::to_string(core::ttl_max.count());
  for (const std::string& line :
       {std::string(" x 3 0 1000 30"), std::string(" 7 x 0 1000 30"), std::string(" 7 3 0 x 30"),
        std::string(" 7 3 0 1000 x"), std::string(" 7 3 0 0 30"), std::string(" 7 3 0 -1 30"),
        " 7 3 0 " + longest + "0 30", std::string(" 7 3 0 1000 0"),
        std::string(" 7 3 0 1000 -1")}) {
    put(file().path(), head + id_.str() + line + "\n");
    EXPECT_TRUE(file().read().empty()) << line;
  }
  put(file().path(), head + "nobody 7 3 0 1000 30\n");
  EXPECT_TRUE(file().read().empty());
  put(file().path(), head + id_.str() + " 7 3 0 " + longest + " 30\n");
  EXPECT_EQ(file().read().size(), 1U);
}

TEST_F(sighting_file_test, damaged_or_suspicious_files_are_no_notes) {
  core::sightings seen;
  seen.note(id_, at_, 30s, then_);
  file().merge(seen);
  const auto good = text(file().path());
  put(file().path(), good + "rubbish\n1 2 3\n" + id_.str() + " -1 x\n");
  EXPECT_EQ(file().read().size(), 1U);
  ::chmod(file().path().c_str(), 0666);
  EXPECT_TRUE(file().read().empty()) << "anybody could have written it";
  std::filesystem::remove(file().path());
  put(directory_ + "/elsewhere", good);
  std::filesystem::create_symlink(directory_ + "/elsewhere", file().path());
  EXPECT_TRUE(file().read().empty());
}

TEST_F(sighting_file_test, without_a_boot_id_there_are_no_notes) {
  core::sightings seen;
  seen.note(id_, at_, 30s, then_);
  const int code = tests::under_boot_id("", [&] {
    file().merge(seen);
    return file().read().empty() ? 0 : 1;
  });
  if (code == tests::cannot_mount) GTEST_SKIP() << "NOT TESTED: needs root, to mount";
  EXPECT_EQ(code, 0);
}

TEST_F(sighting_file_test, a_directory_that_cannot_be_made_is_no_error) {
  sighting_file nowhere("/proc/nowhere", "local:/s");
  core::sightings seen;
  seen.note(id_, at_, 30s, then_);
  EXPECT_EQ(nowhere.merge(seen).all().size(), 1U);
  EXPECT_TRUE(nowhere.read().empty());
}

}  // namespace
}  // namespace holdfast::io
