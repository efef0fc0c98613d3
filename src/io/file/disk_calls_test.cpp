#include "io/file/files.hpp"
#include "io/file/folder.hpp"
#include "tests/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What this disk does that a real one does seldom, and in which order it is asked.

namespace {

struct {
  std::atomic<bool> interrupts{false};    ///< The next reading or writing.
  std::atomic<bool> takes_little{false};  ///< A byte at a time.
  std::atomic<bool> loses_data{false};    ///< fdatasync() fails.
  std::atomic<bool> loses_names{false};   ///< fsync() fails.
  std::string told{};                     ///< What it was asked, while `listens`.
  std::atomic<bool> listens{false};
} disk;

bool is_interrupted() {
  if (!disk.interrupts.exchange(false)) return false;
  errno = EINTR;
  return true;
}
std::size_t at_most(std::size_t size) {
  return disk.takes_little ? std::min<std::size_t>(size, 1) : size;
}
int fails() {
  errno = EIO;
  return -1;
}
void tell(const char* what) {
  if (disk.listens) disk.told += what;
}

}  // namespace

extern "C" {
[[gnu::visibility("default")]] ssize_t own_pread(int fd, void* to, std::size_t size,
                                                 off_t at) __asm__("pread");
ssize_t own_pread(int fd, void* to, std::size_t size, off_t at) {
  return is_interrupted() ? -1 : ::syscall(SYS_pread64, fd, to, at_most(size), at);
}
[[gnu::visibility("default")]] ssize_t own_pwrite(int fd, const void* from, std::size_t size,
                                                  off_t at) __asm__("pwrite");
ssize_t own_pwrite(int fd, const void* from, std::size_t size, off_t at) {
  tell("write ");
  return is_interrupted() ? -1 : ::syscall(SYS_pwrite64, fd, from, at_most(size), at);
}
[[gnu::visibility("default")]] int own_fdatasync(int fd) __asm__("fdatasync");
int own_fdatasync(int fd) {
  tell("sync-data ");
  return disk.loses_data ? fails() : static_cast<int>(::syscall(SYS_fdatasync, fd));
}
[[gnu::visibility("default")]] int own_fsync(int fd) __asm__("fsync");
int own_fsync(int fd) {
  tell("sync-names ");
  return disk.loses_names ? fails() : static_cast<int>(::syscall(SYS_fsync, fd));
}
[[gnu::visibility("default")]] int own_renameat(int from, const char* old_name, int to,
                                                const char* name) __asm__("renameat");
int own_renameat(int from, const char* old_name, int to, const char* name) {
  tell("rename ");
  return static_cast<int>(::syscall(SYS_renameat2, from, old_name, to, name, 0));
}
}

namespace holdfast::io {
namespace {

class disk_calls : public testing::Test {
 protected:
  disk_calls() {
    auto fd = open_directory(dir_.path());
    if (fd) fd_ = std::move(*fd);
  }
  ~disk_calls() override {
    disk.interrupts = disk.takes_little = disk.loses_data = disk.loses_names = false;
    disk.listens = false;
  }
  place where() const { return {fd_.get(), dir_.path()}; }
  static std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
  }
  static std::string text_of(std::span<const std::byte> all) {
    return {reinterpret_cast<const char*>(all.data()), all.size()};
  }

  tests::temporary_directory dir_;
  unique_fd fd_;
  int code_{};
};

TEST_F(disk_calls, that_were_interrupted_or_took_less_are_made_again) {
  const auto file = open_or_create(where(), "f", 0600);
  ASSERT_TRUE(file);
  const auto at = open_folder(dir_.path() + "/of_test", absent::create);
  ASSERT_TRUE(at);
  const auto other = (*at)->open("f", opening::create, code_);
  ASSERT_TRUE(other);
  const auto interrupt = [] { return !disk.interrupts.exchange(true); };
  for (const bool takes_little : {false, true}) {
    disk.takes_little = takes_little;
    std::array<std::byte, 8> into{};
    ASSERT_TRUE(interrupt());
    ASSERT_TRUE(write_at(file->get(), bytes("a text"), 0, "f"));
    ASSERT_TRUE(interrupt()) << "it was not asked";
    ASSERT_EQ(*read_at(file->get(), into, 0, "f"), 6U);
    EXPECT_EQ(text_of(std::span(into).first(6)), "a text");
    ASSERT_TRUE(interrupt());
    ASSERT_TRUE(write_fully(*other, bytes("another"), 0, "f"));
    ASSERT_TRUE(interrupt());
    ASSERT_EQ(*read_fully(*other, into, 0, "f"), 7U);
    EXPECT_EQ(text_of(std::span(into).first(7)), "another");
    EXPECT_FALSE(disk.interrupts.exchange(false));
  }
}

TEST_F(disk_calls, a_text_is_on_the_disk_before_its_name_is_and_then_the_name) {
  disk.told.clear();
  disk.listens = true;
  ASSERT_TRUE(replace_text(where(), "t", "text", 0600));
  disk.listens = false;
  EXPECT_EQ(disk.told, "write sync-data rename sync-names ");
}

TEST_F(disk_calls, a_text_that_cannot_be_synced_replaces_none_and_leaves_nothing) {
  ASSERT_TRUE(replace_text(where(), "t", "old", 0600));
  disk.loses_data = true;
  EXPECT_FALSE(replace_text(where(), "t", "new", 0600));
  disk.loses_data = false;
  EXPECT_EQ(*read_text(where(), "t", 10).value(), "old");
  EXPECT_EQ(names_in(fd_.get(), dir_.path()).value(), std::vector<std::string>{"t"});
  disk.loses_names = true;
  EXPECT_FALSE(replace_text(where(), "t", "new", 0600)) << "its name may be lost again";
}

TEST_F(disk_calls, a_folder_tells_that_it_could_not_sync) {
  const auto at = open_folder(dir_.path() + "/of_test", absent::create);
  ASSERT_TRUE(at);
  const auto file = (*at)->open("f", opening::create, code_);
  ASSERT_TRUE(file);
  disk.loses_data = true;
  EXPECT_EQ(file->sync().code, EIO);
  disk.loses_data = false;
  EXPECT_TRUE(file->sync());
  disk.loses_names = true;
  EXPECT_EQ((*at)->sync().code, EIO);
  EXPECT_EQ((*at)->sync_above().code, EIO);
}

}  // namespace
}  // namespace holdfast::io
