#include "engines/local/new_folder.hpp"

#include "tests/temporary_directory.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace holdfast::engines::local {
namespace {

// Root would not notice: it enters what is closed to everybody.
TEST(local_new_folder, of_a_group_is_made_under_every_umask) {
  const tests::temporary_directory directory;
  ASSERT_EQ(::chmod(directory.path().c_str(), 0777), 0);
  const std::string path = directory.path() + "/above/store";
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t nobody = 65534;
    if (::geteuid() == 0 && ::setuid(nobody) != 0) ::_exit(2);
    ::umask(0777);
    const auto made = make_folder(path, ::getegid());
    if (!made) std::fprintf(stderr, "%s\n", made.error().message().c_str());
    ::_exit(made ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  struct stat there {};
  ASSERT_EQ(::stat(path.c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 07777U, 02770U);
  EXPECT_EQ(there.st_gid, ::getegid());
}

}  // namespace
}  // namespace holdfast::engines::local
