#include "io/file/password_file.hpp"

#include "tests/temporary_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace holdfast::io {
namespace {

using testing::HasSubstr;

class password_file : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  std::string path(const std::string& name) const { return directory_.path() + "/" + name; }

  static result<std::string> read(const std::string& at) {
    return password_of(core::store_url::parse("redis://me@a?password_file=" + at).value());
  }
  static std::string refusal(const std::string& at) {
    const auto r = read(at);
    EXPECT_FALSE(r) << at;
    if (r) return {};
    EXPECT_EQ(r.error(), errc::invalid_argument);
    return r.error().message();
  }

  tests::temporary_directory directory_;
};

TEST_F(password_file, is_the_password_without_the_last_line_ends) {
  EXPECT_EQ(read(file("unix", "a b\n")).value(), "a b");
  EXPECT_EQ(read(file("windows", "ab\r\n\r\n")).value(), "ab");
  EXPECT_EQ(read(file("bare", "ab")).value(), "ab");
  EXPECT_EQ(read(file("long", std::string(4096, 'x'))).value().size(), 4096U);
}

TEST_F(password_file, may_be_a_link_as_in_a_mounted_secret) {
  std::filesystem::create_directory(path("..2026_11"));
  file("..2026_11/password", "secret\n");
  std::filesystem::create_directory_symlink("..2026_11", path("..data"));
  std::filesystem::create_symlink("..data/password", path("password"));
  EXPECT_EQ(read(path("password")).value(), "secret");
}

TEST_F(password_file, is_no_folder_and_is_not_called_a_link_then) {
  std::filesystem::create_directory(path("folder"));
  EXPECT_THAT(refusal(path("folder")),
              testing::AllOf(HasSubstr("password_file"), HasSubstr("/folder is not a plain file"),
                             testing::Not(HasSubstr("link"))));
  EXPECT_THAT(refusal("/tmp"), testing::Not(HasSubstr("//")));
}

TEST_F(password_file, need_not_be_writable_as_secrets_are_not) {
  const std::string at = file("mounted", "secret\n");
  ASSERT_EQ(::chmod(at.c_str(), 0444), 0);
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    // Root may write to anything.
    if (::geteuid() == 0 && ::setuid(65'534) != 0) ::_exit(2);
    const auto r = read(at);
    ::_exit(r && *r == "secret" ? 0 : 1);
  }
  int status{};
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(password_file, that_cannot_be_read_is_refused_by_its_name) {
  EXPECT_THAT(refusal("relative"), HasSubstr("'relative'; it must be an absolute path"));
  EXPECT_THAT(refusal("../up"), HasSubstr("it must be an absolute path"));
  EXPECT_THAT(refusal(path("none")), HasSubstr("/none is not there"));
  EXPECT_THAT(refusal(path("none/below")), HasSubstr("/none/below is not there"));
  std::filesystem::create_symlink("none", path("dangling"));
  EXPECT_THAT(refusal(path("dangling")), HasSubstr("/dangling is not there"));
  std::filesystem::create_symlink("circle", path("circle"));
  EXPECT_THAT(refusal(path("circle")), HasSubstr("/circle: "));
  EXPECT_THAT(refusal(directory_.path()), HasSubstr(directory_.path()));
  EXPECT_THAT(refusal(file("empty", "\n")), HasSubstr("/empty is empty"));
  EXPECT_THAT(refusal(file("longer", std::string(4097, 'x'))), HasSubstr("4096"));
}

TEST_F(password_file, that_cannot_be_read_for_want_of_descriptors_may_be_later) {
  const std::string at = file("p", "secret\n");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto r = read(at);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error(), errc::unavailable);
  EXPECT_FALSE(r.error().needs_operator());
  EXPECT_THAT(r.error().message(), HasSubstr("password_file"));
}

TEST_F(password_file, is_read_again_and_the_last_password_kept_when_it_cannot_be) {
  EXPECT_EQ(password_again("", "first"), "first");
  EXPECT_EQ(password_again(file("p", "second\n"), "first"), "second");
  EXPECT_EQ(password_again(file("p", ""), "second"), "second");
  std::filesystem::remove(path("p"));
  EXPECT_EQ(password_again(path("p"), "second"), "second");
}

TEST_F(password_file, and_a_password_are_one_too_many) {
  const auto url = "redis://me:secret@a?password_file=" + file("p", "other");
  const auto r = password_of(core::store_url::parse(url).value());
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().message(), HasSubstr("give one"));
}

}  // namespace
}  // namespace holdfast::io
