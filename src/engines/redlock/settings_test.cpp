#include "engines/redlock/settings.hpp"

#include "tests/temporary_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

namespace holdfast::engines::redlock {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

result<settings> settings_of(const std::string& url) {
  return read_settings(core::store_url::parse(url).value());
}

void expect_refused(const std::string& url, const std::string& part) {
  const auto s = settings_of(url);
  ASSERT_FALSE(s) << url;
  EXPECT_EQ(s.error().code(), errc::invalid_argument) << url;
  EXPECT_THAT(s.error().message(), HasSubstr(part)) << url;
}

std::string list_of(std::size_t nodes) {
  std::string url = "redlock://h1";
  for (std::size_t i = 2; i <= nodes; ++i) url += ",h" + std::to_string(i);
  return url;
}

TEST(redlock_settings, a_key_that_is_not_given_has_its_default) {
  const auto s = settings_of("redlock://h1,h2,h3");
  ASSERT_TRUE(s) << s.error().message();
  EXPECT_EQ(io::text_of(s->nodes), "h1:6379,h2:6379,h3:6379");
  EXPECT_EQ(s->login.database, 0U);
  EXPECT_EQ(s->login.user + s->login.password, "");
  EXPECT_EQ(s->tls, nullptr);
  EXPECT_TRUE(s->tokens);
  EXPECT_FALSE(s->assume_fresh || s->max_ttl_given || s->may_evict);
  EXPECT_FALSE(s->ttl || s->node_timeout);
  EXPECT_EQ(s->max_ttl, 60s);
  EXPECT_EQ(s->extensions, settings::no_limit);
  EXPECT_EQ(s->extension_limit(), "");
  EXPECT_EQ(s->even_nodes(), "");
}

TEST(redlock_settings, every_key_is_read) {
  const auto s = settings_of(
      "redlock://u:secret@[::1]:7000,unix:/run/r.sock,h/3?ttl=4s&max_ttl=5s&node_timeout=70ms"
      "&tokens=off&assume_fresh=yes&extensions=2&may_evict=yes");
  ASSERT_TRUE(s) << s.error().message();
  EXPECT_EQ(s->nodes.size(), 3U);
  EXPECT_TRUE(s->nodes[1].is_unix());
  EXPECT_EQ(s->login.user, "u");
  EXPECT_EQ(s->login.password, "secret");
  EXPECT_EQ(s->login.database, 3U);
  EXPECT_FALSE(s->tokens);
  EXPECT_TRUE(s->assume_fresh && s->max_ttl_given && s->may_evict);
  EXPECT_EQ(s->ttl, 4s);
  EXPECT_EQ(s->max_ttl, 5s);
  EXPECT_EQ(s->node_timeout, 70ms);
  EXPECT_EQ(s->extensions, 2U);
  EXPECT_THAT(s->url, Not(HasSubstr("secret")));
  EXPECT_TRUE(settings_of("redlock://h?tokens=on&assume_fresh=no")->tokens);
}

TEST(redlock_settings, the_password_is_in_a_file) {
  const tests::temporary_directory directory;
  const std::string file = directory.path() + "/password";
  std::ofstream(file) << "secret\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  const auto s = settings_of("redlock://u@h?password_file=" + file);
  ASSERT_TRUE(s) << s.error().message();
  EXPECT_EQ(s->login.password, "secret");
  EXPECT_THAT(s->url, Not(HasSubstr("secret")));
  expect_refused("redlock://u@h", "give password_file=");
  expect_refused("redlock://u@h?password_file=/is/not/there", "/is/not/there");
}

// docs/redlock.md: ttl/200, between 5 and 50 ms.
TEST(redlock_settings, a_node_has_a_part_of_the_ttl_to_answer_in) {
  const auto s = settings_of("redlock://h");
  ASSERT_TRUE(s);
  EXPECT_EQ(s->timeout_for(4s), 20ms);
  EXPECT_EQ(s->timeout_for(5s), 25ms);
  EXPECT_EQ(s->timeout_for(1s + 200ms), 6ms);
  EXPECT_EQ(s->timeout_for(1s), 5ms);
  EXPECT_EQ(s->timeout_for(1s - 1ms), 5ms) << "no less";
  EXPECT_EQ(s->timeout_for(100ms), 5ms);
  EXPECT_EQ(s->timeout_for(10s - 200ms), 49ms);
  EXPECT_EQ(s->timeout_for(10s), 50ms);
  EXPECT_EQ(s->timeout_for(10s + 1s), 50ms) << "no more";
  EXPECT_EQ(s->timeout_for(1h), 50ms);
}

TEST(redlock_settings, a_node_timeout_of_the_url_counts_for_every_ttl) {
  for (const duration given : {duration(1ms), duration(7ms), duration(200ms), duration(10s)}) {
    const auto text =
        std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(given).count());
    const auto s = settings_of("redlock://h?node_timeout=" + text + "ms");
    ASSERT_TRUE(s) << s.error().message();
    for (const duration ttl : {duration(100ms), duration(4s), duration(1h)}) {
      EXPECT_EQ(s->timeout_for(ttl), given);
    }
  }
}

TEST(redlock_settings, times_are_within_their_borders) {
  expect_refused("redlock://h?node_timeout=999us", "node_timeout");
  expect_refused("redlock://h?node_timeout=0s", "1ms to 10s");
  expect_refused("redlock://h?node_timeout=10001ms", "1ms to 10s");
  expect_refused("redlock://h?node_timeout=5", "unit");
  EXPECT_EQ(settings_of("redlock://h?max_ttl=100ms")->max_ttl, 100ms);
  EXPECT_EQ(settings_of("redlock://h?max_ttl=1h")->max_ttl, 1h);
  expect_refused("redlock://h?max_ttl=99ms", "100ms to 1h");
  expect_refused("redlock://h?max_ttl=3601s", "100ms to 1h");
  expect_refused("redlock://h?max_ttl=long", "max_ttl");
  expect_refused("redlock://h?ttl=5", "unit");
  EXPECT_EQ(settings_of("redlock://h?max_ttl=100100us")->max_ttl, 101ms)
      << "a record keeps milliseconds, and no session is longer than that";
}

TEST(redlock_settings, a_list_of_nodes_is_checked) {
  expect_refused("redlock:", "a redlock URL names its nodes: redlock://host1,host2,host3");
  EXPECT_EQ(settings_of(list_of(1))->nodes.size(), 1U);
  EXPECT_EQ(settings_of(list_of(31))->nodes.size(), 31U);
  expect_refused(list_of(32),
                 "the URL names 32 nodes; at most 31 are supported, 5 are recommended");
  expect_refused("redlock://h1, h2", "separate nodes by a comma alone");
  expect_refused("redlock://h,h:6379", "names the node h:6379 twice");
  expect_refused("redlock://[::1]:7,[::1]:7", "twice; N nodes are N servers");
  expect_refused("redlock://h:x", "h:x");
  expect_refused("redlock://h:65536", "65536");
  expect_refused("redlock://h1,h2/x", "database");
}

TEST(redlock_settings, an_even_number_of_nodes_is_told) {
  EXPECT_EQ(settings_of(list_of(2))->even_nodes(),
            "2 nodes tolerate no more failures than 1 node does; use an odd number");
  EXPECT_EQ(settings_of(list_of(4))->even_nodes(),
            "4 nodes tolerate no more failures than 3 nodes do; use an odd number");
  EXPECT_EQ(settings_of(list_of(5))->even_nodes(), "");
}

TEST(redlock_settings, whether_keys_may_be_dropped_is_said_by_yes_or_no) {
  expect_refused("redlock://h?may_evict=allkeys-lru", "it must be yes or no");
  EXPECT_FALSE(settings_of("redlock://h?may_evict=no")->may_evict);
}

TEST(redlock_settings, what_tokens_say_decides_what_else_may_be_said) {
  expect_refused("redlock://h?tokens=maybe", "it must be on or off");
  expect_refused("redlock://h?tokens=yes", "the URL's tokens is 'yes'");
  expect_refused("redlock://h?tokens=off&assume_fresh=on", "it must be yes or no");
  expect_refused("redlock://h?assume_fresh=yes", "assume_fresh=yes is for tokens=off");
  expect_refused("redlock://h?tokens=on&assume_fresh=yes", "the node records decide");
}

TEST(redlock_settings, the_limit_of_extensions_is_told) {
  EXPECT_EQ(settings_of("redlock://h?extensions=0")->extension_limit(),
            "one lock is extended at most 0 times (extensions=0 in the store's URL)");
  EXPECT_EQ(settings_of("redlock://h?extensions=1")->extension_limit(),
            "one lock is extended at most 1 time (extensions=1 in the store's URL)");
  EXPECT_EQ(settings_of("redlock://h?extensions=4294967294")->extensions, 4'294'967'294U);
  expect_refused("redlock://h?extensions=4294967295", "a number from 0 to 4294967294");
  expect_refused("redlock://h?extensions=-1", "extensions");
  expect_refused("redlock://h?extensions=many", "the URL's extensions is 'many'");
}

TEST(redlock_settings, what_is_not_of_this_engine_is_refused_by_name) {
  expect_refused("redlock://h?colour=red", "colour");
  expect_refused("redlock://h?replicas=1", "replicas");
  expect_refused("redlock://h?ca=/x", "redlock+tls://");
  expect_refused("redlock+tls://h,unix:/run/r.sock", "give verify=ca");
  expect_refused("redlock+tls://h?verify=most", "it must be full, ca or none");
  expect_refused("redlock+tls://h?ca=/is/not/there", "/is/not/there");
}

TEST(redlock_settings, what_makes_a_store_is_its_list_and_its_database) {
  const auto one = settings_of("redlock://h1,h2,h3");
  for (const char* same : {"redlock://h3,h1,h2:6379", "redlock://h1,h2,h3/0?ttl=3s",
                           "redlock+tls://h1,h2,h3?verify=none", "redlock://h1,h2,h3?tokens=off"}) {
    EXPECT_EQ(settings_of(same)->identity, one->identity) << same;
    EXPECT_EQ(settings_of(same)->config_hash, one->config_hash) << same;
  }
  for (const char* other : {"redlock://h1,h2,h3/1", "redlock://h1,h2", "redlock://h1,h2,H4"}) {
    EXPECT_NE(settings_of(other)->identity, one->identity) << other;
    EXPECT_NE(settings_of(other)->config_hash, one->config_hash) << other;
  }
}

}  // namespace
}  // namespace holdfast::engines::redlock
