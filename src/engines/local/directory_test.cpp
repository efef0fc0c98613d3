#include "engines/local/directory.hpp"

#include "engines/local/store_fixture.hpp"

#include <grp.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>

namespace {

ino_t synced_first{};

}  // namespace

// Whether a name is on the disk shows only after a power loss. This one is found before the C
// library's.
extern "C" [[gnu::visibility("default")]] int own_fsync(int fd) __asm__("fsync");
extern "C" int own_fsync(int fd) {
  struct stat s {};
  if (::fstat(fd, &s) == 0 && synced_first == 0) synced_first = s.st_ino;
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace holdfast::engines::local {
namespace {

namespace fs = std::filesystem;

/// A forked child that has what its parent had at that moment, and uses nothing of it.
class bystander {
 public:
  bystander() : pid_(::fork()) {
    if (pid_ == 0) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (pid_ == 0) ::pause();
  }
  bystander(const bystander&) = delete;
  bystander& operator=(const bystander&) = delete;
  ~bystander() {
    ::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

class local_directory : public store_test {
 protected:
  /// Opens it, as far as setup; the store is not made complete.
  std::optional<directory> half_open() const {
    auto half = directory::open({path(), {}});
    if (!half) ADD_FAILURE() << half.error().message();
    return half ? std::optional(std::move(*half)) : std::nullopt;
  }
  static std::string own_group() {
    const group* own = ::getgrgid(::getegid());
    return own == nullptr ? "" : own->gr_name;
  }
  mode_t mode_of(const std::string& name) const {
    struct stat s {};
    return ::stat(file(name).c_str(), &s) == 0 ? s.st_mode & 07777U : 0;
  }
};

TEST_F(local_directory, the_name_of_a_new_one_is_on_the_disk_before_its_format) {
  struct stat above {};
  ASSERT_EQ(::stat(root().c_str(), &above), 0);
  for (const bool is_made : {true, false}) {
    fs::remove_all(path());
    // Whoever made the directory may have ended before it was synced.
    if (!is_made) fs::create_directory(path());
    synced_first = 0;
    { const auto half = half_open(); }
    EXPECT_EQ(synced_first, above.st_ino);
  }
}

TEST_F(local_directory, an_open_that_failed_leaves_no_lock_with_a_forked_child) {
  for (const bool is_new : {true, false}) {
    auto half = half_open();
    ASSERT_TRUE(half);
    EXPECT_EQ(half->fresh(), is_new);
    const bystander child;
    half.reset();
    const auto o = open_at(path());
    ASSERT_TRUE(o) << o.error().message();
  }
}

TEST_F(local_directory, a_store_that_is_closed_is_not_in_use_by_a_forked_child) {
  for (const bool is_new : {true, false}) {
    ASSERT_EQ(fs::exists(path()), !is_new);
    auto first = std::make_optional(open());
    const bystander child;
    first.reset();
    fs::remove(file("boot"));
    const auto o = open_at(path());
    ASSERT_TRUE(o) << is_new << " " << o.error().message();
  }
}

// A kill at any point of it makes the next opener start over.
TEST_F(local_directory, an_earlier_boot_has_its_name_no_more_when_its_files_are_removed) {
  { const auto o = open(); }
  write(file("boot"), "an earlier boot");
  fs::remove(file("data.mdb"));
  fs::create_directories(file("data.mdb/in the way"));
  const auto half = directory::open({path(), {}});
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error(), errc::unavailable);
  EXPECT_NE(half.error().message().find("remove " + file("data.mdb")), std::string::npos)
      << half.error().message();
  EXPECT_FALSE(fs::exists(file("boot")));
  fs::remove_all(file("data.mdb"));
  EXPECT_EQ(caller(open().engine, 1).open().what, core::status::ok);
}

TEST_F(local_directory, the_mode_that_somebody_gave_the_life_locks_directory_stays) {
  for (const std::string& query : {std::string(), "group=" + own_group()}) {
    fs::remove_all(path());
    { ASSERT_TRUE(open_at(path(), query)); }
    const mode_t given = query.empty() ? 0711 : 02750;
    ASSERT_EQ(::chmod(file("life").c_str(), given), 0);
    { ASSERT_TRUE(open_at(path(), query)); }
    EXPECT_EQ(mode_of("life"), given) << query;
  }
}

TEST_F(local_directory, what_was_made_for_a_group_by_one_who_was_killed_becomes_the_groups) {
  { ASSERT_TRUE(open_at(path(), "group=" + own_group())); }
  // A kill between a file's making and its mode; `boot` is written when all of them are complete.
  fs::remove(file("boot"));
  const std::array files{"lock", "slots", "floor", "shared", "data.mdb"};
  for (const char* name : files) ASSERT_EQ(::chmod(file(name).c_str(), 0600), 0) << name;
  ASSERT_EQ(::chmod(file("life").c_str(), 0700), 0);
  { ASSERT_TRUE(open_at(path(), "group=" + own_group())); }
  for (const char* name : files) EXPECT_EQ(mode_of(name), 0660U) << name;
  EXPECT_EQ(mode_of("life"), 02770U);
}

TEST_F(local_directory, a_groups_folder_has_its_name_only_when_it_is_the_groups) {
  const io::unique_fd seen(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  ASSERT_GE(::inotify_add_watch(seen.get(), root().c_str(), IN_CREATE | IN_MOVED_TO), 0);
  ASSERT_TRUE(open_at(path(), "group=" + own_group()));
  alignas(inotify_event) std::array<char, 4096> all{};
  const ssize_t size = ::read(seen.get(), all.data(), all.size());
  ASSERT_GT(size, 0);
  std::string how;
  for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
    inotify_event one{};
    std::memcpy(&one, all.data() + at, sizeof one);
    const std::string name(all.data() + at + sizeof one);
    if (name == "store") how += (one.mask & IN_MOVED_TO) != 0 ? "moved" : "made";
    at += sizeof one + one.len;
  }
  EXPECT_EQ(how, "moved");
  EXPECT_EQ(mode_of(""), 02770U);
  EXPECT_EQ(std::distance(fs::directory_iterator(root()), {}), 1) << "nothing is left beside it";
}

// A user who was killed left a file that nobody else may open; here it is one that nobody can.
TEST_F(local_directory, what_is_no_session_keeps_nobody_out_after_a_reboot) {
  { const auto o = open(); }
  const std::string left = file("life/" + std::string(32, 'a') + ".new");
  ASSERT_EQ(::mkfifo(left.c_str(), 0600), 0);
  write(file("boot"), "an earlier boot");
  const auto o = open_at(path());
  ASSERT_TRUE(o) << o.error().message();
  EXPECT_FALSE(fs::exists(left));
}

// The kernel names it by a path that leads elsewhere here.
TEST_F(local_directory, a_store_of_another_mount_namespace_is_one_store) {
  const std::string mounted = root() + "/mounted";
  ASSERT_TRUE(fs::create_directory(mounted));
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe2(ready.data(), O_CLOEXEC), 0);
  const pid_t there = ::fork();
  if (there == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const bool own = ::unshare(CLONE_NEWNS) == 0 &&
                     ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                     ::mount("tmpfs", mounted.c_str(), "tmpfs", 0, "mode=0700") == 0;
    (void)!::write(ready[1], own ? "y" : "n", 1);
    for (;;) ::pause();
  }
  char is_own = 'n';
  EXPECT_EQ(::read(ready[0], &is_own, 1), 1);
  if (is_own == 'y') {
    const std::string asked = "/proc/" + std::to_string(there) + "/root" + mounted + "/store";
    const auto o = open_at(asked);
    EXPECT_TRUE(o) << o.error().message();
    EXPECT_EQ(o ? o->url : "", "local:" + asked);
    EXPECT_EQ(o ? o->life_directory : "", asked + "/life");
    EXPECT_TRUE(fs::is_empty(mounted));
  }
  ::kill(there, SIGKILL);
  (void)code_of(there);
  for (const int fd : ready) ::close(fd);
  if (is_own != 'y') GTEST_SKIP() << "NOT TESTED: no private mounts here";
}

}  // namespace
}  // namespace holdfast::engines::local
