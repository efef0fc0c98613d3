#include "io/process/life.hpp"

#include "tests/own_namespaces.hpp"
#include "tests/temporary_directory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace holdfast::io {
namespace {

session_id id_of(std::uint8_t n) {
  session_id id;
  id.bytes.fill(n);
  return id;
}

class life_lock_file : public testing::Test {
 protected:
  std::string dir() const { return place_.path(); }
  std::string file(std::uint8_t n) const { return dir() + "/" + id_of(n).str(); }
  bool there(std::uint8_t n) const { return ::access(file(n).c_str(), F_OK) == 0; }

 private:
  tests::temporary_directory place_;
};

/// A file that nobody has locked.
void leave_dead(const std::string& file) { std::ofstream(file).flush(); }

/// In order.
std::vector<session_id> names_in(const std::vector<free_life>& lives) {
  std::vector<session_id> ids;
  for (const auto& one : lives) ids.push_back(one.id);
  std::ranges::sort(ids, {}, &session_id::bytes);
  return ids;
}

void reap(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
}

TEST_F(life_lock_file, is_alive_for_its_own_process_too) {
  auto held = life_lock::hold(dir(), id_of(1));
  ASSERT_TRUE(held) << held.error().message();
  EXPECT_GE(held->descriptor(), 0);
  EXPECT_EQ(probe_life(dir(), id_of(1), held->place()), life::alive);
  // A probe must not free what it looked at.
  EXPECT_EQ(probe_life(dir(), id_of(1), held->place()), life::alive);
}

TEST_F(life_lock_file, is_removed_with_its_owner_and_then_unknown) {
  core::life_place place;
  {
    auto held = life_lock::hold(dir(), id_of(1));
    ASSERT_TRUE(held);
    place = held->place();
  }
  EXPECT_FALSE(there(1));
  EXPECT_EQ(probe_life(dir(), id_of(1), place), life::unknown);
}

TEST_F(life_lock_file, stays_judgeable_when_forgotten) {
  auto held = life_lock::hold(dir(), id_of(1));
  ASSERT_TRUE(held);
  const auto place = held->place();
  held->forget();
  EXPECT_TRUE(there(1));
  EXPECT_EQ(probe_life(dir(), id_of(1), place), life::dead);
  remove_life(dir(), id_of(1));
  EXPECT_FALSE(there(1));
}

TEST_F(life_lock_file, is_dead_only_when_the_last_holder_is_gone) {
  int link[2];
  ASSERT_EQ(::pipe(link), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto held = life_lock::hold(dir(), id_of(1));
    if (!held) ::_exit(1);
    const pid_t grandchild = ::fork();  // Shares the description.
    if (grandchild == 0) {
      ::setsid();
      ::pause();
      ::_exit(0);
    }
    struct {
      core::life_place place;
      pid_t pid;
    } say{held->place(), grandchild};
    if (::write(link[1], &say, sizeof say) != sizeof say) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  struct {
    core::life_place place;
    pid_t pid;
  } said{};
  ASSERT_EQ(::read(link[0], &said, sizeof said), static_cast<ssize_t>(sizeof said));
  EXPECT_EQ(probe_life(dir(), id_of(1), said.place), life::alive);
  ::kill(child, SIGKILL);
  reap(child);
  EXPECT_EQ(probe_life(dir(), id_of(1), said.place), life::alive);
  ::kill(said.pid, SIGKILL);
  life seen = life::alive;
  for (int i = 0; i < 30000 && seen == life::alive; ++i) {
    ::usleep(1000);
    seen = probe_life(dir(), id_of(1), said.place);
  }
  EXPECT_EQ(seen, life::dead);
  ::close(link[0]);
  ::close(link[1]);
}

TEST_F(life_lock_file, is_left_alone_by_a_forked_child_that_ends) {
  auto held = life_lock::hold(dir(), id_of(1));
  ASSERT_TRUE(held);
  const pid_t child = ::fork();
  if (child == 0) {
    { const life_lock ended = std::move(*held); }
    ::_exit(0);
  }
  reap(child);
  EXPECT_TRUE(there(1));
  EXPECT_EQ(probe_life(dir(), id_of(1), held->place()), life::alive);
}

TEST_F(life_lock_file, is_closed_on_exec) {
  auto held = life_lock::hold(dir(), id_of(1));
  ASSERT_TRUE(held);
  EXPECT_NE(::fcntl(held->descriptor(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(life_lock_file, has_the_asked_permissions_whatever_the_umask) {
  const mode_t before = ::umask(0);
  auto own = life_lock::hold(dir(), id_of(1));
  ::umask(0777);
  auto shared = life_lock::hold(dir(), id_of(2), true);
  ::umask(before);
  ASSERT_TRUE(own);
  ASSERT_TRUE(shared);
  struct stat s {};
  ASSERT_EQ(::stat(file(1).c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 07777, 0600U);
  ASSERT_EQ(::stat(file(2).c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 07777, 0660U);
}

TEST_F(life_lock_file, is_never_made_over_an_existing_file_or_a_symbolic_link) {
  auto first = life_lock::hold(dir(), id_of(1));
  ASSERT_TRUE(first);
  EXPECT_EQ(life_lock::hold(dir(), id_of(1)).error(), errc::unavailable);
  EXPECT_TRUE(there(1));
  ASSERT_EQ(::symlink("/nonexistent/victim", file(2).c_str()), 0);
  EXPECT_EQ(life_lock::hold(dir(), id_of(2)).error(), errc::unavailable);
}

/// From here on this process takes no lock of an open file description: ENOLCK. False: it does.
bool lose_file_locks() {
  const auto number = static_cast<std::uint32_t>(offsetof(seccomp_data, nr));
  const auto command = static_cast<std::uint32_t>(offsetof(seccomp_data, args[1]));
  sock_filter steps[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number),
                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 3),
                         BPF_STMT(BPF_LD | BPF_W | BPF_ABS, command),
                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_OFD_SETLK, 0, 1),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOLCK),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog all{.len = std::size(steps), .filter = steps};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
}

// It would be a free one, by which others take its owner for dead.
TEST_F(life_lock_file, is_not_made_where_it_cannot_be_locked) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!lose_file_locks()) ::_exit(2);
    const auto held = life_lock::hold(dir(), id_of(1));
    ::_exit(!held && held.error() == errc::unavailable ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "NOT TESTED: this kernel filters no system calls";
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(std::filesystem::is_empty(dir()));
}

TEST_F(life_lock_file, says_what_failed_where_and_why) {
  auto none = life_lock::hold(dir() + "/missing", id_of(1));
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message().find(dir() + "/missing"), std::string::npos);
  EXPECT_NE(none.error().message().find(std::strerror(ENOENT)), std::string::npos);
}

TEST_F(life_lock_file, is_unknown_when_it_is_another_file_than_the_record_names) {
  auto held = life_lock::hold(dir(), id_of(1));
  ASSERT_TRUE(held);
  auto other = held->place();
  ++other.inode;
  EXPECT_EQ(probe_life(dir(), id_of(1), other), life::unknown);
  other = held->place();
  ++other.device;
  EXPECT_EQ(probe_life(dir(), id_of(1), other), life::unknown);
  EXPECT_EQ(probe_life(dir(), id_of(1), core::life_place{}), life::unknown);
}

TEST_F(life_lock_file, a_free_one_is_told_with_its_place_which_no_copy_has) {
  auto held = life_lock::hold(dir(), id_of(1));
  ASSERT_TRUE(held);
  const auto place = held->place();
  const tests::temporary_directory elsewhere;
  std::filesystem::copy(dir(), elsewhere.path());
  EXPECT_TRUE(free_lives(dir(), 10).empty());
  const auto copies = free_lives(elsewhere.path(), 10);
  ASSERT_EQ(names_in(copies), std::vector{id_of(1)});
  EXPECT_NE(copies[0].where, place);
  EXPECT_EQ(probe_life(elsewhere.path(), id_of(1), place), life::unknown);
  held->forget();
  const auto own = free_lives(dir(), 10);
  ASSERT_EQ(names_in(own), std::vector{id_of(1)});
  EXPECT_EQ(own[0].where, place);
}

// As on a clone of a machine's disk, where it has the same device and the same inode.
TEST_F(life_lock_file, is_unknown_on_another_boot) {
  auto held = life_lock::hold(dir(), id_of(1));
  ASSERT_TRUE(held);
  held->forget();
  ASSERT_EQ(probe_life(dir(), id_of(1), held->place()), life::dead);
  const int code = tests::under_boot_id("another", [&] {
    if (probe_life(dir(), id_of(1), held->place()) != life::unknown) return 1;
    const auto found = free_lives(dir(), 10);
    return found.size() == 1 && found[0].where != held->place() ? 0 : 2;
  });
  if (code == tests::cannot_mount) GTEST_SKIP() << "NOT TESTED: needs root, to mount";
  EXPECT_EQ(code, 0);
}

TEST_F(life_lock_file, is_no_proof_without_a_boot_id) {
  leave_dead(file(2));
  const int code = tests::under_boot_id("", [&] {
    auto held = life_lock::hold(dir(), id_of(1));
    if (!held || held->place() != core::life_place{}) return 1;
    held->forget();
    if (probe_life(dir(), id_of(1), held->place()) != life::unknown) return 2;
    return free_lives(dir(), 10).empty() ? 0 : 3;
  });
  if (code == tests::cannot_mount) GTEST_SKIP() << "NOT TESTED: needs root, to mount";
  EXPECT_EQ(code, 0);
}

TEST_F(life_lock_file, is_unknown_when_its_inode_was_given_to_a_younger_file) {
  const auto inode_of = [this](std::uint8_t n) {
    struct stat s {};
    return ::stat(file(n).c_str(), &s) == 0 ? s.st_ino : 0;
  };
  core::life_place gone;
  std::uint64_t inode{};
  {
    auto held = life_lock::hold(dir(), id_of(1));
    ASSERT_TRUE(held);
    gone = held->place();
    inode = inode_of(1);
  }
  for (int i = 0; i < 100 && inode_of(1) != inode; ++i) {
    std::filesystem::remove(file(1));
    ::usleep(5000);  // Files that are born within one tick of a kernel's clock are of one age.
    leave_dead(file(1));
  }
  if (inode_of(1) != inode) GTEST_SKIP() << "NOT TESTED: the file system gives no inode twice";
  EXPECT_EQ(probe_life(dir(), id_of(1), gone), life::unknown);
}

TEST_F(life_lock_file, is_not_a_file_with_something_in_it) {
  std::ofstream(file(1)) << "somebody else's";
  EXPECT_TRUE(free_lives(dir(), 10).empty());
  std::ofstream(file(2)).flush();
  EXPECT_EQ(names_in(free_lives(dir(), 10)), std::vector{id_of(2)});
}

TEST_F(life_lock_file, moves_with_its_value) {
  auto held = life_lock::hold(dir(), id_of(1));
  ASSERT_TRUE(held);
  life_lock moved = std::move(*held);
  const auto place = moved.place();
  auto second = life_lock::hold(dir(), id_of(2));
  ASSERT_TRUE(second);
  moved = std::move(*second);
  EXPECT_FALSE(there(1));
  EXPECT_NE(moved.place(), place);
  EXPECT_EQ(probe_life(dir(), id_of(2), moved.place()), life::alive);
  EXPECT_LT(second->descriptor(), 0);
  { const life_lock last = std::move(moved); }
  EXPECT_FALSE(there(2)) << "who was moved to removes it";
}

TEST_F(life_lock_file, free_lives_are_the_free_ones_and_nothing_else) {
  const auto held = life_lock::hold(dir(), id_of(1));
  ASSERT_TRUE(held);
  leave_dead(file(2));
  leave_dead(file(3));
  leave_dead(dir() + "/notes.txt");
  ASSERT_TRUE(std::filesystem::create_directory(file(4)));
  ASSERT_EQ(::symlink(file(2).c_str(), file(5).c_str()), 0);
  // Opening one waits for whoever writes into it.
  ASSERT_EQ(::mkfifo(file(6).c_str(), 0600), 0);
  EXPECT_EQ(names_in(free_lives(dir(), 100)), (std::vector{id_of(2), id_of(3)}));
  EXPECT_TRUE(there(2)) << "the record decides when a named file goes";
  EXPECT_TRUE(free_lives(dir() + "/missing", 100).empty());
}

TEST_F(life_lock_file, free_lives_looks_at_so_many_files_at_most) {
  for (std::uint8_t n = 1; n <= 20; ++n) leave_dead(file(n));
  EXPECT_EQ(free_lives(dir(), 5).size(), 5U);
  EXPECT_EQ(free_lives(dir(), 100).size(), 20U);
}

TEST_F(life_lock_file, the_living_never_hide_the_dead_for_long) {
  std::vector<life_lock> living;
  for (std::uint8_t n = 1; n <= 60; ++n) {
    if (n % 10 == 0) {
      leave_dead(file(n));
      continue;
    }
    auto held = life_lock::hold(dir(), id_of(n));
    ASSERT_TRUE(held);
    living.push_back(std::move(*held));
  }
  const auto dead_left = [&] { return names_in(free_lives(dir(), 100)).size(); };
  ASSERT_EQ(dead_left(), 6U);
  // Each time a file is missed with 56 in 60: 6 are found in 400 times but for once in 10^11.
  for (int i = 0; i < 400; ++i) {
    for (const auto& one : free_lives(dir(), 4)) remove_life(dir(), one.id);
  }
  EXPECT_EQ(dead_left(), 0U);
}

TEST_F(life_lock_file, is_young_for_a_while_after_it_was_made) {
  leave_dead(file(1));
  EXPECT_TRUE(is_life_younger(dir(), id_of(1), std::chrono::hours{1}));
  const auto now = std::filesystem::last_write_time(file(1));
  std::filesystem::last_write_time(file(1), now - std::chrono::hours{2});
  EXPECT_FALSE(is_life_younger(dir(), id_of(1), std::chrono::hours{1}));
  std::filesystem::last_write_time(file(1), now + std::chrono::hours{2});
  EXPECT_TRUE(is_life_younger(dir(), id_of(1), std::chrono::hours{1})) << "the clock was set back";
  EXPECT_TRUE(is_life_younger(dir(), id_of(2), std::chrono::hours{1}));
}

TEST_F(life_lock_file, remove_life_removes_that_one_and_bears_that_it_is_gone) {
  leave_dead(file(1));
  leave_dead(file(2));
  remove_life(dir(), id_of(1));
  remove_life(dir(), id_of(1));
  EXPECT_FALSE(there(1));
  EXPECT_TRUE(there(2));
}

TEST_F(life_lock_file, a_file_without_its_name_is_swept_unless_somebody_has_it) {
  leave_dead(file(1) + ".new");
  leave_dead(dir() + "/notes.new");
  // As if its owner had locked it and were about to name it.
  const auto held = life_lock::hold(dir(), id_of(2));
  ASSERT_TRUE(held);
  std::filesystem::rename(file(2), file(2) + ".new");
  EXPECT_TRUE(free_lives(dir(), 100).empty());
  EXPECT_FALSE(std::filesystem::exists(file(1) + ".new"));
  EXPECT_TRUE(std::filesystem::exists(file(2) + ".new"));
  EXPECT_TRUE(std::filesystem::exists(dir() + "/notes.new"));
}

// Whoever may write in the directory could otherwise stop everybody who opens the store.
TEST_F(life_lock_file, sweeping_waits_for_nobody_and_leaves_what_is_no_file) {
  const std::string pipe = file(1) + ".new";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(5);  // Opening a pipe waits for its other end.
    ::_exit(free_lives(dir(), 100).empty() ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::exists(pipe));
}

TEST_F(life_lock_file, sweeping_never_takes_a_life_from_who_is_being_born) {
  for (int round = 0; round < 10; ++round) {
    std::vector<life_lock> all;  // Outlives the sweepers: they must see living ones only.
    std::atomic<bool> stop{};
    std::vector<std::thread> sweepers;
    for (int i = 0; i < 2; ++i) {
      sweepers.emplace_back([&] {
        while (!stop) EXPECT_TRUE(free_lives(dir(), 1000).empty());
      });
    }
    for (std::uint8_t n = 1; n <= 100; ++n) {
      auto held = life_lock::hold(dir(), id_of(n));
      EXPECT_TRUE(held) << held.error().message();
      if (!held) break;
      EXPECT_EQ(probe_life(dir(), id_of(n), held->place()), life::alive);
      all.push_back(std::move(*held));
    }
    stop = true;
    for (auto& one : sweepers) one.join();
  }
}

TEST_F(life_lock_file, a_kill_at_any_moment_leaves_nothing_that_is_not_swept) {
  for (int round = 0; round < 100; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (std::uint8_t n = 1;; n = n % 100 + 1) {
        if (auto held = life_lock::hold(dir(), id_of(n)); !held) ::_exit(1);
      }
    }
    ::usleep(static_cast<useconds_t>(500 + 37 * round));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    for (const auto& one : free_lives(dir(), 100)) remove_life(dir(), one.id);
    ASSERT_TRUE(std::filesystem::is_empty(dir())) << "round " << round;
  }
}

}  // namespace
}  // namespace holdfast::io
