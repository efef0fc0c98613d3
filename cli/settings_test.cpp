#include "cli/settings.hpp"
#include "cli/config_reader.hpp"
#include "tests/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace holdfast::cli {
namespace {

class settings_test : public testing::Test {
 protected:
  void SetUp() override {
    for (const key_info& k : all_keys()) ::unsetenv(k.environment);
  }
  std::string write(const std::string& text) {
    std::ofstream(file_) << text;
    ::setenv("HOLDFAST_CONFIG", file_.c_str(), 1);
    return file_;
  }
  std::string fault_of(const std::string& text) {
    write(text);
    settings s;
    const auto fault = settings::load(s);
    return fault ? fault->text : "";
  }
  tests::temporary_directory folder_;
  std::string file_ = folder_.path() + "/config.toml";
};

TEST_F(settings_test, an_option_wins_over_the_environment_and_that_over_the_file) {
  write("store = \"local:/a\"\nttl = \"20s\"\n\nlabel = \"x\"\n");
  ::setenv("HOLDFAST_STORE", "local:/b", 1);
  ::setenv("HOLDFAST_TTL", "10s", 1);
  settings s;
  ASSERT_FALSE(settings::load(s));
  s.set_option(key::ttl, "5s");
  EXPECT_EQ(s[key::ttl].value, "5s");
  EXPECT_EQ(s[key::ttl].origin_text(), "option --ttl");
  EXPECT_EQ(s[key::store].value, "local:/b");
  EXPECT_EQ(s[key::store].origin_text(), "environment HOLDFAST_STORE");
  EXPECT_EQ(s[key::label].origin_text(), file_ + ":4:9");
  EXPECT_EQ(s[key::label].file(), file_);
  EXPECT_EQ(s[key::store].file(), "");
  EXPECT_EQ(s[key::wait].origin_text(), "default");
}

TEST_F(settings_test, the_users_file_wins_key_by_key) {
  const std::string mine = folder_.path() + "/mine.toml";
  std::ofstream(file_) << "store = \"local:/system\"\nlabel = \"system\"\n";
  std::ofstream(mine) << "label = \"mine\"\n";
  settings s;
  ASSERT_FALSE(config_reader::read(file_, s));
  ASSERT_FALSE(config_reader::read(mine, s));
  EXPECT_EQ(s[key::store].value, "local:/system");
  EXPECT_EQ(s[key::label].value, "mine");
}

TEST_F(settings_test, every_fault_names_its_place) {
  EXPECT_NE(fault_of("\nttl = 30\n").find(file_ + ":2:7: ttl must be a text"), std::string::npos);
  EXPECT_NE(fault_of("ttl = \"30\"\n").find(file_ + ":1:7: ttl"), std::string::npos);
  EXPECT_NE(fault_of("a = \n").find(file_ + ":1:"), std::string::npos);
  const std::string unknown = fault_of("# x\n  stroe = \"local:\"\n");
  EXPECT_NE(unknown.find(file_ + ":2:3: unknown setting \"stroe\" (did you mean \"store\"?)"),
            std::string::npos)
      << unknown;
}

TEST_F(settings_test, a_named_file_that_is_missing_or_a_directory_is_a_fault) {
  settings s;
  ::setenv("HOLDFAST_CONFIG", "/nonexistent/config.toml", 1);
  const auto missing = settings::load(s);
  ASSERT_TRUE(missing);
  EXPECT_NE(missing->text.find("HOLDFAST_CONFIG names that file"), std::string::npos);
  ::setenv("HOLDFAST_CONFIG", folder_.path().c_str(), 1);
  EXPECT_TRUE(settings::load(s));
}

TEST(password_file_in_url, is_found) {
  EXPECT_EQ(password_file_in("redlock://a,b?password_file=/etc/x"), "/etc/x");
  EXPECT_EQ(password_file_in("redis://h/0?ttl=3s&password_file=/a%20b%26c&ca=/d"), "/a b&c");
  EXPECT_EQ(password_file_in("redis://h/0?my_password_file=/x&password_file="), "");
  EXPECT_EQ(password_file_in("redis://h/0?x=1"), "");
  EXPECT_EQ(password_file_in("local:/password_file=/x"), "");
  EXPECT_EQ(password_file_in("redis://h?password_file=/a%"), "/a%");
}

TEST(password_in_url, is_found_and_left_out) {
  EXPECT_TRUE(has_password("redis://me:secret@host:1/0?x=1"));
  EXPECT_EQ(without_password("redis://me:secret@host:1/0?x=1"), "redis://me@host:1/0?x=...");
  EXPECT_EQ(without_password("redis://:s@c:r@host"), "redis://@host");
  EXPECT_FALSE(has_password("redis://me@host:6379"));
  EXPECT_FALSE(has_password("local:/a:b@c"));
  EXPECT_FALSE(has_password("etcd://h:1/p?ca=a:b@c"));
}

TEST(password_in_url, of_any_word_is_left_out_and_all_else_only_of_stores) {
  for (const char* word : {"redis://x", "REDIS+TLS://x", "--store=etcd://x", "-xzookeeper://x",
                           "redis:/u:secret@h", "--store=redis:/u:secret@h", "rediss://secret@h"}) {
    EXPECT_TRUE(is_for_a_store(word)) << word;
  }
  for (const char* word :
       {"", "redis", "https://u:secret@h/p?id=1", "local:/a", "my-redis:a@b", "ssh://git@h/a"}) {
    EXPECT_FALSE(is_for_a_store(word)) << word;
  }
  EXPECT_EQ(without_its_password("https://u:secret@h/p?id=1&x=2"), "https://u@h/p?id=1&x=2");
  EXPECT_EQ(without_its_password("ssh://git@h/a"), "ssh://git@h/a");
  EXPECT_EQ(without_its_password("a:b@c"), "a:b@c");
}

TEST(password_in_url, that_other_clients_take_is_left_out) {
  EXPECT_EQ(without_password("redis://secret@host:1/0"), "redis://...@host:1/0");
  EXPECT_EQ(without_password("redis://me@h?password_file=/x"), "redis://me@h?password_file=/x");
  EXPECT_EQ(without_password("redis://@h"), "redis://@h");
  EXPECT_EQ(without_password("redis://h?password=secret&ttl=3s&auth=secret"),
            "redis://h?password=...&ttl=3s&auth=...");
  EXPECT_EQ(without_password("redis://u:secret@h?Password=secret"), "redis://u@h?Password=...");
  EXPECT_EQ(without_password("redis://h?secret&&ttl=3s&"), "redis://h?...&&ttl=3s&");
  EXPECT_EQ(without_password("local:/a?ttl=3s&group=b"), "local:/a?ttl=3s&group=b");
  EXPECT_EQ(without_password(""), "");
}

TEST(password_in_url, is_left_out_with_all_behind_it_where_it_cuts_the_url) {
  for (const char* password : {"a/b", "1/b", "a,b", "a?b", "a?b=1", "a?ca=b", "s@a/b", "a,1/b"}) {
    const std::string url = "redis://me:" + std::string(password) + "@host:1/0?ttl=3s";
    EXPECT_EQ(without_password(url), "redis://...") << url;
    EXPECT_TRUE(has_password(url)) << url;
  }
  for (const char* url :
       {"redis://me@unix:/run/a@b?password_file=/c", "etcd://h1:1,unix:/a@b",
        "redis://h:1/0?password_file=/a@b", "redis+tls://h?ca=/a@b&key=/c@d",
        "local:/a@b?group=c@d", "local:///a/b@c", "redis://[::1]?password_file=/a@b",
        "redis://[::1]:1?password_file=/a@b", "redis:h", "h"}) {
    EXPECT_EQ(without_password(url), url);
    EXPECT_FALSE(has_password(url)) << url;
  }
  EXPECT_EQ(without_password("redis:/u:secret@h"), "redis:...");
  EXPECT_EQ(without_password("redis:u:secret@h"), "redis:...");
  EXPECT_EQ(without_password("u:secret@h:1"), "u:...");
  EXPECT_EQ(without_password("secret@h"), "...");
}

}  // namespace
}  // namespace holdfast::cli
