#include "io/file/folder.hpp"

#include "tests/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace holdfast::io {
namespace {

class real_directory : public testing::Test {
 protected:
  std::unique_ptr<folder> open(absent what = absent::refuse) const {
    auto made = open_folder(dir_.path() + "/of_test", what);
    if (!made) ADD_FAILURE() << made.error().message();
    return made ? std::move(*made) : nullptr;
  }
  static std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
  }
  tests::temporary_directory dir_;
  int code_{};
};

TEST_F(real_directory, is_made_only_when_asked_for_and_where_its_parent_exists) {
  EXPECT_EQ(open_folder(dir_.path() + "/of_test", absent::refuse).error(), errc::unavailable);
  EXPECT_EQ(open_folder(dir_.path() + "/no/of_test", absent::create).error(), errc::unavailable);
  EXPECT_EQ(open_folder("", absent::create).error(), errc::invalid_argument);
  EXPECT_TRUE(open(absent::create));
  EXPECT_TRUE(open(absent::create));
}

TEST_F(real_directory, is_its_owner_s_whatever_the_umask) {
  const mode_t before = ::umask(0177);
  const auto made = open(absent::create);
  ::umask(before);
  ASSERT_TRUE(made);
  struct stat there {};
  ASSERT_EQ(::stat((dir_.path() + "/of_test").c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 07777U, 0700U);
}

TEST_F(real_directory, on_a_file_system_without_the_guarantees_is_refused_by_name) {
  const auto refused = open_folder("/proc/self", absent::refuse);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error() == errc::unsupported || refused.error() == errc::unavailable);
  const auto kind = open_folder("/proc", absent::refuse);
  ASSERT_FALSE(kind);
  EXPECT_EQ(kind.error(), errc::unsupported);
  EXPECT_NE(kind.error().message().find("proc"), std::string::npos);
}

TEST_F(real_directory, links_to_a_free_name_only) {
  const auto at = open(absent::create);
  ASSERT_TRUE(at->open("a", opening::create, code_));
  EXPECT_FALSE(at->open("a", opening::create, code_));
  EXPECT_EQ(code_, EEXIST);
  EXPECT_TRUE(at->link("a", "b"));
  EXPECT_EQ(at->link("a", "b").code, EEXIST);
  EXPECT_EQ(at->link("none", "c").code, ENOENT);
  EXPECT_TRUE(at->unlink("a"));
  std::vector<std::string> names;
  EXPECT_TRUE(at->list(names));
  EXPECT_EQ(names, std::vector<std::string>{"b"});
  EXPECT_TRUE(at->sync());
  EXPECT_TRUE(at->sync_above());
}

TEST_F(real_directory, reserves_space_without_a_longer_file) {
  const auto at = open(absent::create);
  const auto file = at->open("a", opening::create, code_);
  ASSERT_TRUE(file);
  ASSERT_TRUE(write_fully(*file, bytes("hello"), 3, "a"));
  EXPECT_TRUE(file->reserve(0, 1 << 20));
  EXPECT_EQ(file->size().value, 8);
  std::array<std::byte, 16> into{};
  EXPECT_EQ(*read_fully(*file, into, 0, "a"), 8U);
  EXPECT_EQ(into[3], std::byte{'h'});
  EXPECT_TRUE(file->sync());
  EXPECT_TRUE(file->truncate(4));
  EXPECT_EQ(file->size().value, 4);
}

TEST_F(real_directory, maps_one_page_for_all) {
  const auto at = open(absent::create);
  const auto file = at->open("a", opening::create, code_);
  ASSERT_TRUE(file->truncate(4096));
  const auto again = at->open("a", opening::read, code_);
  std::byte* first = file->map(4096, code_);
  std::byte* second = again->map(4096, code_);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  reinterpret_cast<std::atomic<std::uint64_t>*>(first)->store(7);
  EXPECT_EQ(reinterpret_cast<std::atomic<std::uint64_t>*>(second)->load(), 7U);
}

TEST_F(real_directory, refuses_links_and_what_is_no_file) {
  const auto at = open(absent::create);
  ASSERT_EQ(::symlink("/etc/passwd", at->at("link").c_str()), 0);
  ASSERT_EQ(::mkfifo(at->at("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(at->open("link", opening::read, code_));
  EXPECT_EQ(code_, ELOOP);
  EXPECT_FALSE(at->open("pipe", opening::write, code_));
  EXPECT_EQ(code_, EINVAL);
  EXPECT_FALSE(at->open("none", opening::write, code_));
  EXPECT_EQ(code_, ENOENT);
}

TEST_F(real_directory, gives_new_files_its_own_permissions) {
  const auto at = open(absent::create);
  ASSERT_EQ(::chmod(at->path().c_str(), 0770), 0);
  const auto grouped = open();
  ASSERT_TRUE(grouped->open("a", opening::create, code_));
  struct stat s {};
  ASSERT_EQ(::stat(at->at("a").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 07777U, 0660U);
  ASSERT_EQ(::chmod(at->path().c_str(), 01777), 0);
  const auto everybodys = open();
  ASSERT_TRUE(everybodys->open("b", opening::create, code_));
  ASSERT_EQ(::stat(at->at("b").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 07777U, 0664U) << "none is for all to write";
}

}  // namespace
}  // namespace holdfast::io
