#include "io/net/servers_url.hpp"

#include "core/store_url.hpp"
#include "tests/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace holdfast::io {
namespace {

constexpr servers_rule by_network{.scheme = "etcd", .port = 2379, .unix_sockets = false};
constexpr servers_rule also_by_path{.scheme = "etcd", .port = 2379, .unix_sockets = true};

result<servers_url> read(const std::string& text, const servers_rule& rule = by_network) {
  return servers_of(core::store_url::parse(text).value(), rule);
}
void expect_refused(const std::string& text, const char* why) {
  const auto r = read(text);
  ASSERT_FALSE(r) << text;
  EXPECT_EQ(r.error(), errc::invalid_argument);
  EXPECT_NE(r.error().message().find(why), std::string::npos) << r.error().message();
}
std::string url_of(int servers) {
  std::string text = "etcd://s0";
  for (int i = 1; i < servers; ++i) text += ",s" + std::to_string(i);
  return text;
}

TEST(servers_url, names_up_to_sixteen_servers) {
  EXPECT_EQ(read(url_of(1))->servers.at(0).port, 2379);
  EXPECT_EQ(read(url_of(16))->servers.size(), 16U);
  expect_refused(url_of(17), "at most 16");
  expect_refused("etcd://a:2379,a", "twice");
}

TEST(servers_url, names_a_path_where_the_engine_has_unix_sockets) {
  const auto path = read("etcd://unix:/run/s.sock", also_by_path);
  ASSERT_TRUE(path) << path.error().message();
  EXPECT_EQ(path->servers.at(0).path, "/run/s.sock");
  expect_refused("etcd://unix:/run/s.sock", "no unix sockets");
}

TEST(servers_url, names_a_user_and_a_password_together_or_neither) {
  const tests::temporary_directory directory;
  const std::string file = directory.path() + "/password";
  std::ofstream(file) << "secret\n";
  const auto both = read("etcd://me@a?password_file=" + file);
  ASSERT_TRUE(both) << both.error().message();
  EXPECT_EQ(both->user, "me");
  EXPECT_EQ(both->password, "secret");
  EXPECT_EQ(both->password_file, file) << "it is read again";
  EXPECT_EQ(read("etcd://me:secret@a")->password_file, "");
  expect_refused("etcd://me@a", "no password");
  expect_refused("etcd://a?password_file=" + file, "no user");
}

}  // namespace
}  // namespace holdfast::io
