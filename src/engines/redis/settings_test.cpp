#include "engines/redis/settings.hpp"

#include <gtest/gtest.h>

namespace holdfast::engines::redis {
namespace {

result<settings> read(const std::string& url) {
  return read_settings(core::store_url::parse(url).value());
}

void refused(const std::string& url, const std::string& part) {
  const auto s = read(url);
  ASSERT_FALSE(s) << url;
  EXPECT_EQ(s.error().code(), errc::invalid_argument) << url;
  EXPECT_NE(s.error().message().find(part), std::string::npos) << s.error().message();
}

TEST(settings, a_key_that_is_not_given_has_its_default) {
  const auto s = read("redis://h");
  ASSERT_TRUE(s);
  EXPECT_EQ(s->node.text(), "h:6379");
  EXPECT_EQ(s->max_ttl, std::chrono::seconds{60});
  EXPECT_FALSE(s->max_ttl_given || s->assume_fresh);
  EXPECT_EQ(s->node_timeout, std::chrono::seconds{1});
  EXPECT_EQ(s->with_replicas, settings::replication::refused);
}

TEST(settings, every_key_is_read) {
  const auto s = read(
      "redis://u:secret@[::1]:7000/3?max_ttl=5s&node_timeout=50ms&replicas=2&assume_fresh=yes");
  ASSERT_TRUE(s) << s.error().message();
  EXPECT_EQ(s->login.user, "u");
  EXPECT_EQ(s->login.password, "secret");
  EXPECT_EQ(s->login.database, 3U);
  EXPECT_EQ(s->max_ttl, std::chrono::seconds{5});
  EXPECT_TRUE(s->max_ttl_given && s->assume_fresh);
  EXPECT_EQ(s->with_replicas, settings::replication::awaited);
  EXPECT_EQ(s->replicas, 2U);
  EXPECT_EQ(s->url.find("secret"), std::string::npos) << s->url;
  EXPECT_EQ(read("redis://h?replicas=ignore")->with_replicas, settings::replication::ignored);
  EXPECT_TRUE(read("redis://unix:/run/redis.sock")->node.is_unix());
}

TEST(settings, how_a_store_is_used_does_not_make_it_another) {
  EXPECT_EQ(read("redis://h?assume_fresh=yes")->identity, read("redis://h:6379")->identity);
  EXPECT_NE(read("redis://h/1")->identity, read("redis://h")->identity);
}

TEST(settings, what_cannot_be_is_refused_by_name) {
  refused("redis:", "redis://host");
  refused("redis://a,b:2,c", "redlock://a,b:2,c");
  refused("redis://h?max_ttl=1ms", "max_ttl");
  refused("redis://h?max_ttl=2h", "max_ttl");
  refused("redis://h?node_timeout=0s", "node_timeout");
  refused("redis://h?replicas=0", "replicas");
  refused("redis://h?replicas=some", "replicas");
  refused("redis://h?assume_fresh=maybe", "assume_fresh");
  refused("redis://h?tokens=off", "tokens");
  refused("redis://h/x", "database");
  refused("redis://h?ca=/x", "redis+tls://");
  refused("redis+tls://unix:/run/redis.sock", "give verify=ca");
  refused("redis://u@h", "password_file");
}

}  // namespace
}  // namespace holdfast::engines::redis
