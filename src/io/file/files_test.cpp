#include "io/file/files.hpp"

#include "io/file/file_lock.hpp"
#include "io/file/file_system.hpp"
#include "io/file/folder.hpp"
#include "tests/own_namespaces.hpp"
#include "tests/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

namespace {

/// What reading a directory ends with; 0: it does not fail.
std::atomic<int> directories_fail{0};

}  // namespace

// A disk cannot be made to fail in the middle of a directory.
extern "C" [[gnu::visibility("default")]] dirent* own_readdir(DIR* from) __asm__("readdir");
extern "C" dirent* own_readdir(DIR* from) {
  static_assert(sizeof(dirent) == sizeof(dirent64));
  if (!directories_fail) return reinterpret_cast<dirent*>(::readdir64(from));
  errno = directories_fail;
  return nullptr;
}
// It may leave anything in errno.
extern "C" [[gnu::visibility("default")]] int own_closedir(DIR* of) __asm__("closedir");
extern "C" int own_closedir(DIR* of) {
  using original = int (*)(DIR*);
  static const auto next = reinterpret_cast<original>(::dlsym(RTLD_NEXT, "closedir"));
  const int code = next(of);
  if (directories_fail != 0) errno = EBADF;
  return code;
}

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

class careful_files : public testing::Test {
 protected:
  careful_files() {
    auto fd = open_directory(dir_.path());
    if (fd) fd_ = std::move(*fd);
  }
  place where() const { return {fd_.get(), dir_.path()}; }
  std::string at(const char* name) const { return where().at(name); }
  static mode_t mode_at(const std::string& path) {
    struct stat there {};
    return ::stat(path.c_str(), &there) == 0 ? there.st_mode & 07777U : 0U;
  }

 private:
  tests::temporary_directory dir_;
  unique_fd fd_;
};

TEST_F(careful_files, a_text_is_read_back_and_replaced_as_a_whole) {
  EXPECT_FALSE(read_text(where(), "t", 10).value());
  ASSERT_TRUE(replace_text(where(), "t", "old", 0600));
  ASSERT_TRUE(replace_text(where(), "t", "newer", 0640));
  EXPECT_EQ(*read_text(where(), "t", 10).value(), "newer");
  EXPECT_EQ(read_text(where(), "t", 4).error(), errc::damaged);
  struct stat s {};
  ASSERT_EQ(::stat(at("t").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 07777, 0640U);
  EXPECT_NE(::access(at("t.new").c_str(), F_OK), 0);
}

TEST_F(careful_files, what_a_killed_writer_left_is_overwritten) {
  ASSERT_TRUE(open_or_create(where(), "t.new", 0600));
  ASSERT_TRUE(replace_text(where(), "t", "x", 0600));
  EXPECT_EQ(*read_text(where(), "t", 10).value(), "x");
}

TEST_F(careful_files, links_and_odd_files_are_refused_and_do_not_hang) {
  ASSERT_EQ(::symlink("/etc/passwd", at("link").c_str()), 0);
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  ASSERT_EQ(::mkdir(at("dir").c_str(), 0700), 0);
  for (const char* name : {"link", "fifo", "dir"}) {
    EXPECT_EQ(open_existing(where(), name).error(), errc::unavailable) << name;
    EXPECT_EQ(open_or_create(where(), name, 0600).error(), errc::unavailable) << name;
    EXPECT_EQ(read_text(where(), name, 10).error(), errc::unavailable) << name;
  }
  ASSERT_EQ(::symlink(where().path.c_str(), at("dirlink").c_str()), 0);
  EXPECT_EQ(open_directory(at("dirlink")).error(), errc::unavailable);
  EXPECT_EQ(open_directory(at("missing")).error(), errc::unavailable);
}

TEST_F(careful_files, a_created_file_has_its_mode_whatever_the_umask) {
  const mode_t before = ::umask(0777);
  auto file = open_or_create(where(), "f", 0660);
  ::umask(before);
  ASSERT_TRUE(file);
  auto facts = facts_of(file->get(), "f");
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->mode, 0660U);
  EXPECT_TRUE(facts->regular);
}

TEST_F(careful_files, only_a_directory_of_our_own_is_given_a_mode_and_no_link_is_followed) {
  const auto mode_of = [this](const char* name) { return mode_at(at(name)); };
  ASSERT_EQ(::mkdir(at("dir").c_str(), 0000), 0);
  EXPECT_EQ(set_directory_mode(where().directory, "dir", 02770), 0);
  EXPECT_EQ(mode_of("dir"), 02770U);
  ASSERT_EQ(::mkdir(at("victim").c_str(), 0700), 0);
  ASSERT_EQ(::symlink(at("victim").c_str(), at("link").c_str()), 0);
  ASSERT_TRUE(open_or_create(where(), "file", 0600));
  for (const char* name : {"link", "file"}) {
    EXPECT_EQ(set_directory_mode(where().directory, name, 02770), ENOTDIR) << name;
  }
  EXPECT_EQ(mode_of("victim"), 0700U);
  EXPECT_EQ(mode_of("file"), 0600U);
  EXPECT_EQ(set_directory_mode(where().directory, "missing", 02770), ENOENT);
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(at("victim").c_str(), 65534, 65534), 0);
  EXPECT_EQ(set_directory_mode(where().directory, "victim", 02770), EPERM);
  EXPECT_EQ(mode_of("victim"), 0700U);
}

TEST_F(careful_files, a_created_directory_is_its_owners_whatever_the_umask) {
  // Nothing, what keeps new files private, and what most users have.
  for (const auto& [mask, parents] : {std::pair{0777U, 0700U}, {0177U, 0700U}, {0022U, 0755U}}) {
    const std::string top = at("top") + std::to_string(mask);
    const mode_t before = ::umask(mask);
    const auto made = make_directories(top + "/below", 0700);
    ::umask(before);
    EXPECT_TRUE(made);
    EXPECT_EQ(mode_at(top), parents);
    EXPECT_EQ(mode_at(top + "/below"), 0700U);
  }
}

TEST_F(careful_files, a_file_whose_maker_was_killed_before_it_had_its_mode_gets_it) {
  const auto mode_after = [this](mode_t mode) {
    auto file = open_or_create(where(), "f", mode);
    return file ? facts_of(file->get(), "f")->mode : 0;
  };
  EXPECT_EQ(mode_after(0600), 0600U);
  EXPECT_EQ(mode_after(0660), 0660U);
  EXPECT_EQ(mode_after(0600), 0660U) << "nobody loses what was given";
  ASSERT_EQ(::chmod(at("f").c_str(), 0640), 0);
  EXPECT_EQ(mode_after(0660), 0640U) << "somebody wants it to be so";
}

TEST_F(careful_files, byte_locks_exclude_between_descriptions_and_time_out) {
  auto a = open_or_create(where(), "l", 0600);
  auto b = open_or_create(where(), "l", 0600);
  ASSERT_TRUE(a && b);
  EXPECT_TRUE(*try_lock_byte(a->get(), 1, share::together));
  EXPECT_TRUE(*try_lock_byte(b->get(), 1, share::together));
  EXPECT_FALSE(*try_lock_byte(b->get(), 1, share::alone));
  EXPECT_TRUE(*try_lock_byte(b->get(), 0, share::alone));
  EXPECT_FALSE(is_unlocked(a->get()));
  const auto before = std::chrono::steady_clock::now();
  EXPECT_FALSE(*lock_byte(a->get(), 0, share::alone, 30ms));
  EXPECT_GE(std::chrono::steady_clock::now() - before, 29ms);
  unlock_byte(b->get(), 0);
  EXPECT_TRUE(*lock_byte(a->get(), 0, share::alone, 30ms));
}

TEST_F(careful_files, the_file_system_is_known_by_name) {
  const unique_fd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  auto fs = file_system_of(proc.get(), "/proc");
  ASSERT_TRUE(fs);
  EXPECT_EQ(fs->name, "proc");
  EXPECT_FALSE(fs->local);
}

TEST_F(careful_files, names_are_listed_in_order) {
  for (const char* name : {"b", "a", ".c"}) ASSERT_TRUE(open_or_create(where(), name, 0600));
  EXPECT_EQ(*names_in(where().directory, ""), (std::vector<std::string>{".c", "a", "b"}));
  // Again, because the first reading must not have moved anything.
  EXPECT_EQ(names_in(where().directory, "")->size(), 3U);
}

TEST_F(careful_files, a_directory_that_cannot_be_read_to_its_end_is_an_error) {
  const auto at = open_folder(std::string(where().path), absent::refuse);
  ASSERT_TRUE(at) << at.error().message();
  std::vector<std::string> listed;
  directories_fail = EIO;
  const auto names = names_in(where().directory, "/x");
  const auto answer = (*at)->list(listed);
  directories_fail = 0;
  EXPECT_EQ(answer.code, EIO);
  ASSERT_FALSE(names);
  EXPECT_EQ(names.error().message(), "cannot read the directory /x: Input/output error");
}

TEST_F(careful_files, a_failure_says_what_on_what_and_why) {
  const error e = file_failure("open", "/x", ENOSPC, "free some space");
  EXPECT_FALSE(e.needs_operator()) << "somebody may free some";
  EXPECT_EQ(e.message(), "cannot open /x: No space left on device; free some space");
  for (const int code : {EACCES, EPERM, EROFS}) {
    EXPECT_TRUE(file_failure("open", "/x", code).needs_operator()) << code;
  }
}

/// True when a child, which it changes alone, ends with true.
bool in_child(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0;
}

bool says(const error& e, std::string_view what) {
  if (e.message().find(what) != std::string::npos) return true;
  std::fprintf(stderr, "%s\n", e.message().c_str());
  return false;
}

TEST_F(careful_files, a_limit_is_named_as_what_it_is) {
  EXPECT_TRUE(in_child([&] {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_NOFILE, &none);
    const auto e = open_directory(where().path).error();
    return says(e, "ulimit -n") && !says(e, "yours to read");
  }));
  EXPECT_TRUE(in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    auto file = open_or_create(where(), "f", 0600);
    const rlimit little{100, 100};
    ::setrlimit(RLIMIT_FSIZE, &little);
    const auto e = reserve(file->get(), 1000, "f").error();
    return says(e, "ulimit -f") && !says(e, "free some space");
  }));
}

TEST_F(careful_files, the_parent_that_cannot_be_made_is_named_with_its_reason) {
  ASSERT_EQ(::chmod(where().path.c_str(), 0555), 0);
  EXPECT_TRUE(in_child([&] {
    constexpr uid_t nobody = 65534;
    if (::geteuid() == 0 && ::setresuid(nobody, nobody, nobody) != 0) return false;
    for (const char* deep : {"home/state", "home/a/b/state"}) {
      if (!says(make_directories(at(deep), 0700).error(),
                "cannot create the directory " + at("home") + ": Permission denied")) {
        return false;
      }
    }
    return true;
  }));
  ASSERT_EQ(::chmod(where().path.c_str(), 0700), 0);
}

// In a child, on a btrfs of its own that is a file below `at`.
int on_btrfs(const std::string& at, const std::function<int(const std::string&)>& body) {
  const std::string image = at + "/image";
  const std::string mounted = at + "/btrfs";
  const auto mount = [&] {
    const std::string command = "truncate -s 128M " + image + " && mkdir " + mounted +
                                " && mkfs.btrfs -q " + image + " && mount -o loop " + image + " " +
                                mounted;
    return std::system(("{ " + command + "; } >/dev/null 2>&1").c_str()) == 0;
  };
  return tests::in_own_mounts(mount, [&] { return body(mounted); });
}

void fill_the_disk(const std::string& path) {
  const unique_fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const std::string much(65536, 'x');
  // What was only promised room is given it by a sync.
  for (int i = 0; i < 4; ++i) {
    for (const std::size_t n : {much.size(), std::size_t{4096}}) {
      while (::write(fd.get(), much.data(), n) > 0) {
      }
    }
    ::fsync(fd.get());
  }
}

bool stores_on_a_full_disk(std::byte* page, std::size_t size, const std::string& more) {
  std::memset(page, 1, size);
  ::msync(page, size, MS_SYNC);
  fill_the_disk(more);
  for (int n = 2; n < 4; ++n) {
    std::memset(page, n, size);
    if (::msync(page, size, MS_SYNC) != 0) return false;
  }
  return true;
}

// Before it btrfs reserved room for every store into a mapped page.
bool writes_mapped_pages_in_place() {
  utsname name{};
  int major = 0;
  int minor = 0;
  if (::uname(&name) != 0 || std::sscanf(name.release, "%d.%d", &major, &minor) != 2) return false;
  return major > 6 || (major == 6 && minor >= 17);
}

TEST_F(careful_files, on_btrfs_a_file_is_overwritten_in_place_if_it_is_to_be) {
  const int code = on_btrfs(where().path, [&](const std::string& path) {
    const auto fd = open_directory(path);
    const place there{fd->get(), path};
    for (const bool in_place : {true, false}) {
      const auto file = in_place ? open_or_create_in_place(there, "yes", 0600)
                                 : open_or_create(there, "no", 0600);
      int flags = 0;
      if (!file || ::ioctl(file->get(), FS_IOC_GETFLAGS, &flags) != 0) return 1;
      if (((flags & FS_NOCOW_FL) != 0) != in_place) return 2;
    }
    return 0;
  });
  if (code == tests::cannot_mount) GTEST_SKIP() << "NOT TESTED: no root, or no mkfs.btrfs";
  EXPECT_EQ(code, 0);
}

TEST_F(careful_files, a_full_btrfs_ends_nobody_who_stores_to_a_mapped_page) {
  if (!writes_mapped_pages_in_place()) GTEST_SKIP() << "NOT TESTED: Linux before 6.17";
  constexpr std::size_t size = 65536;
  const int code = on_btrfs(where().path, [&](const std::string& path) {
    const auto fd = open_directory(path);
    const auto file = open_or_create_in_place({fd->get(), path}, "shared", 0600);
    if (!file || !reserve(file->get(), size, path)) return 1;
    const auto memory = shared_memory::map(file->get(), size, path);
    if (!memory || !stores_on_a_full_disk(memory->data(), size, path + "/rest")) return 2;
    ::unlink((path + "/rest").c_str());
    int why = 0;
    const auto files = open_folder(path, absent::refuse);
    const auto one = files ? (*files)->open("mark", opening::create, why) : nullptr;
    if (!one || !one->truncate(size) || !one->reserve(0, size)) return 3;
    std::byte* const data = one->map(size, why);
    return data != nullptr && stores_on_a_full_disk(data, size, path + "/rest") ? 0 : 4;
  });
  if (code == tests::cannot_mount) GTEST_SKIP() << "NOT TESTED: no root, or no mkfs.btrfs";
  EXPECT_EQ(code, 0) << "128 + SIGBUS is 135";
}

}  // namespace
}  // namespace holdfast::io
