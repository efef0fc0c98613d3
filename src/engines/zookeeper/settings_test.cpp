#include "engines/zookeeper/settings.hpp"

#include <gtest/gtest.h>

namespace holdfast::engines::zookeeper {
namespace {

using namespace std::chrono_literals;

result<settings> read(const std::string& url) {
  return read_settings(core::store_url::parse(url).value());
}

std::string refusal_of(const std::string& url) {
  const auto s = read(url);
  return s ? std::string() : s.error().message();
}

TEST(zookeeper_settings, what_is_left_out_has_its_default) {
  const auto s = read("zookeeper://a,b:1234,[::1]");
  ASSERT_TRUE(s) << s.error().message();
  ASSERT_EQ(s->servers.size(), 3U);
  EXPECT_EQ(s->servers[0].text(), "a:2181");
  EXPECT_EQ(s->servers[1].text(), "b:1234");
  EXPECT_EQ(s->servers[2].text(), "[::1]:2181");
  EXPECT_EQ(s->root, "/holdfast");
  EXPECT_EQ(s->node_timeout, 2s);
  EXPECT_TRUE(s->user.empty());
}

TEST(zookeeper_settings, the_path_is_the_root) {
  EXPECT_EQ(read("zookeeper://a/x/y/")->root, "/x/y");
  EXPECT_EQ(read("zookeeper://a/")->root, "/holdfast");
  EXPECT_EQ(read("zookeeper://a/x/")->url, read("zookeeper://a/x")->url);
}

TEST(zookeeper_settings, the_order_of_servers_does_not_make_another_store) {
  EXPECT_EQ(read("zookeeper://a,b/x")->identity, read("zookeeper://b,a/x")->identity);
  EXPECT_NE(read("zookeeper://a,b/x")->identity, read("zookeeper://a,b/y")->identity);
}

TEST(zookeeper_settings, a_password_is_never_in_the_url) {
  const auto s = read("zookeeper://me:secret@a");
  ASSERT_TRUE(s);
  EXPECT_EQ(s->user, "me");
  EXPECT_EQ(s->password, "secret");
  EXPECT_EQ(s->url.find("secret"), std::string::npos);
}

TEST(zookeeper_settings, tls_is_refused_by_its_reason) {
  const auto s = read("zookeeper+tls://a");
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().code(), errc::unsupported);
  EXPECT_NE(s.error().message().find("without TLS"), std::string::npos);
}

TEST(zookeeper_settings, what_is_wrong_is_named) {
  const auto expect = [](const std::string& url, const std::string& part) {
    EXPECT_NE(refusal_of(url).find(part), std::string::npos) << url << ": " << refusal_of(url);
  };
  expect("zookeeper:", "names the servers");
  expect("zookeeper://a,a", "twice");
  expect("zookeeper://unix:/x", "no unix sockets");
  expect("zookeeper://a:0", "port");
  expect("zookeeper://a/zookeeper/x", "keeps for itself");
  expect("zookeeper://a/x//y", "part");
  expect("zookeeper://a/x/../y", "part");
  expect("zookeeper://a/" + std::string(300, 'x'), "bytes");
  expect("zookeeper://a/\xc3\xa4", "ASCII");
  expect("zookeeper://a?node_timeout=1ms", "node_timeout");
  expect("zookeeper://a?replicas=1", "no option");
  expect("zookeeper://me@a", "no password");
  expect("zookeeper://a?password_file=relative", "absolute");
  expect("zookeeper://m%3Ae:p@a", "colon");
  std::string many = "zookeeper://a0";
  for (int i = 1; i < 17; ++i) many += ",a" + std::to_string(i);
  expect(many, "at most 16");
}

}  // namespace
}  // namespace holdfast::engines::zookeeper
