#include "io/process/run_directory.hpp"

#include "tests/own_namespaces.hpp"
#include "tests/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace holdfast::io {
namespace {

class run_directory : public testing::Test {
 protected:
  run_directory() { ::setenv("HOLDFAST_RUN_DIRECTORY", base().c_str(), 1); }
  ~run_directory() override { ::unsetenv("HOLDFAST_RUN_DIRECTORY"); }

  std::string base() const { return directory_.path() + "/run"; }

 private:
  tests::temporary_directory directory_;
};

TEST_F(run_directory, each_store_has_a_private_folder_of_its_own) {
  const auto a = life_directory_of("redis://a");
  const auto b = life_directory_of("redis://b");
  ASSERT_TRUE(a && b);
  EXPECT_NE(*a, *b);
  EXPECT_EQ(life_directory_of("redis://a").value(), *a);
  struct stat s {};
  ASSERT_EQ(::stat(a->c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777U, 0700U);
  EXPECT_EQ(std::filesystem::path(*a).parent_path(), base());
}

TEST_F(run_directory, one_that_others_may_write_to_is_refused) {
  std::filesystem::create_directory(base());
  ASSERT_EQ(::chmod(base().c_str(), 0770), 0);
  const auto refused = life_directory_of("redis://a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), errc::unavailable);
  EXPECT_NE(refused.error().message().find(base()), std::string::npos);
}

TEST_F(run_directory, one_of_somebody_else_is_refused) {
  std::string theirs = "/usr";  // Only root may write there, and its owner is root.
  if (::geteuid() == 0) {
    theirs = base();
    std::filesystem::create_directory(theirs);
    ASSERT_EQ(::chmod(theirs.c_str(), 0755), 0);
    ASSERT_EQ(::chown(theirs.c_str(), 65'534, 65'534), 0);
  }
  ::setenv("HOLDFAST_RUN_DIRECTORY", theirs.c_str(), 1);
  const auto refused = life_directory_of("redis://a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), errc::unavailable);
  EXPECT_NE(refused.error().message().find("belongs to somebody else"), std::string::npos)
      << refused.error().message();
}

TEST_F(run_directory, one_without_an_absolute_path_is_refused_and_no_other_is_taken) {
  ::setenv("HOLDFAST_RUN_DIRECTORY", "run", 1);
  const auto refused = life_directory_of("redis://a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), errc::invalid_argument);
  EXPECT_NE(refused.error().message().find("absolute path"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists("run"));
}

/// Whether it was refused for `code` with `word`: what a child that cannot expect anything ends
/// with.
int is_refused(errc code, const char* word) {
  const auto refused = life_directory_of("redis://a");
  if (refused || refused.error().code() != code) return 1;
  return refused.error().message().find(word) != std::string::npos ? 0 : 2;
}

TEST_F(run_directory, one_whose_locks_another_kernel_may_not_see_is_refused) {
  std::filesystem::create_directory(base());
  const auto foreign = [this] {
    return ::mount("none", base().c_str(), "ramfs", 0, "mode=0700") == 0;
  };
  const int code =
      tests::in_own_mounts(foreign, [] { return is_refused(errc::unsupported, "ramfs"); });
  if (code == tests::cannot_mount) GTEST_SKIP() << "NOT TESTED: needs root, to mount";
  EXPECT_EQ(code, 0);
}

TEST_F(run_directory, there_is_none_without_a_boot_id) {
  const int code =
      tests::under_boot_id("", [] { return is_refused(errc::unavailable, "boot_id"); });
  if (code == tests::cannot_mount) GTEST_SKIP() << "NOT TESTED: needs root, to mount";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace holdfast::io
