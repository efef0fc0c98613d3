#include "cli/find_command.hpp"
#include "tests/temporary_directory.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

namespace holdfast::cli {
namespace {

class find_command_test : public testing::Test {
 protected:
  void TearDown() override { ::setenv("PATH", path_.c_str(), 1); }
  std::string make(const std::string& name, mode_t how) {
    const std::string at = folder_.path() + "/" + name;
    std::ofstream(at) << "#!/bin/sh\n";
    ::chmod(at.c_str(), how);
    return at;
  }
  std::string path_ = std::getenv("PATH");
  tests::temporary_directory folder_;
};

TEST_F(find_command_test, searches_the_path_in_order_and_passes_what_cannot_run) {
  const std::string a = folder_.path() + "/a";
  const std::string b = folder_.path() + "/b";
  ::mkdir(a.c_str(), 0700);
  ::mkdir(b.c_str(), 0700);
  make("a/tool", 0600);
  make("b/tool", 0700);
  ::setenv("PATH", (a + ":" + b).c_str(), 1);
  EXPECT_EQ(find_command("tool").path, b + "/tool");
  ::setenv("PATH", a.c_str(), 1);
  EXPECT_TRUE(find_command("tool").path.empty());
  EXPECT_TRUE(find_command("tool").exists);
}

TEST_F(find_command_test, a_name_with_a_slash_is_not_searched) {
  const std::string at = make("job", 0700);
  EXPECT_EQ(find_command(at).path, at);
  EXPECT_FALSE(find_command(at + "x").exists);
  EXPECT_TRUE(find_command(folder_.path() + "/").exists);
  EXPECT_TRUE(find_command(folder_.path() + "/").path.empty());
  EXPECT_FALSE(find_command("").exists);
  const auto below_a_file = find_command(at + "/x");
  EXPECT_TRUE(below_a_file.path.empty());
  EXPECT_TRUE(below_a_file.exists);
  EXPECT_NE(below_a_file.reason.find("Not a directory"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::cli
