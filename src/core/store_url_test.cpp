#include "core/store_url.hpp"

#include "gtest/gtest.h"

#include <rapidcheck/gtest.h>

namespace holdfast::core {
namespace {

using namespace std::chrono_literals;
using strings = std::vector<std::string>;

store_url read(const std::string& text) {
  auto url = store_url::parse(text);
  EXPECT_TRUE(url) << text << ": " << (url ? "" : url.error().message());
  return url ? std::move(*url) : store_url{};
}

TEST(store_url, takes_a_path_as_it_stands) {
  const auto url = read("local:/var/lib/hold fast@x:1,2");
  EXPECT_EQ(url.scheme, "local");
  EXPECT_EQ(url.path, "/var/lib/hold fast@x:1,2");
  EXPECT_TRUE(url.hosts.empty());
}

TEST(store_url, takes_apart_hosts_user_path_and_query) {
  const auto url = read("Redis+TLS://me:se%20cret@h1:1,[::1]:2,unix:/run/a/b?ttl=30s&ca=%2Fx");
  EXPECT_EQ(url.scheme, "redis");
  EXPECT_TRUE(url.tls);
  EXPECT_EQ(url.user, "me");
  EXPECT_EQ(url.password, "se cret");
  EXPECT_EQ(url.hosts, (strings{"h1:1", "[::1]:2", "unix:/run/a/b"}));
  EXPECT_EQ(url.query.at("ca"), "/x");
  EXPECT_EQ(**url.time("ttl"), 30s);
  EXPECT_FALSE(*url.time("absent"));
}

TEST(store_url, a_path_follows_the_hosts) {
  const auto url = read("etcd://h1,h2/prefix/a");
  EXPECT_EQ(url.hosts, (strings{"h1", "h2"}));
  EXPECT_EQ(url.path, "/prefix/a");
}

TEST(store_url, says_what_is_wrong_at_which_byte_and_never_repeats_it) {
  struct fault {
    std::string text;
    std::string at;
    std::string why;
  };
  const fault cases[] = {{"", "byte 0:", "no scheme"},
                         {"/var/lib", "byte 0:", "no scheme"},
                         {":x", "byte 0:", "no scheme"},
                         {"+tls://h", "byte 0:", "no scheme"},
                         {"1a:x", "byte 0:", "scheme"},
                         {"lo cal:x", "byte 2:", "scheme"},
                         {"local:a\nb", "byte 7:", "control"},
                         {std::string("local:\0", 7), "byte 6:", "control"},
                         {"local:a\x7f", "byte 7:", "control"},
                         {"redis://", "byte 8:", "empty host"},
                         {"redis://a,,b", "byte 10:", "empty host"},
                         {"redis://a,", "byte 10:", "empty host"},
                         {"redis://u@", "byte 10:", "empty host"},
                         {"redis://u:%zz@h", "byte 10:", "hexadecimal"},
                         {"redis://%4@h", "byte 8:", "hexadecimal"},
                         {"local:/a?ttl", "byte 9:", "key=value"},
                         {"local:/a?=1", "byte 9:", "key=value"},
                         {"local:/a?a=1&a=2", "byte 13:", "twice"},
                         {"local:/a?a=%0a", "byte 11:", "control"},
                         {"local:/a?%=1", "byte 9:", "hexadecimal"},
                         {"local:/a?a=1%", "byte 12:", "hexadecimal"},
                         {"local:" + std::string(4096, 'a'), "byte 4096:", "4096"}};
  for (const fault& f : cases) {
    const auto url = store_url::parse(f.text);
    ASSERT_FALSE(url) << f.text;
    EXPECT_EQ(url.error(), errc::invalid_argument);
    EXPECT_NE(url.error().message().find(f.at), std::string::npos) << url.error().message();
    EXPECT_NE(url.error().message().find(f.why), std::string::npos) << url.error().message();
  }
}

TEST(store_url, an_empty_value_is_refused) {
  for (const char* key : {"password_file", "ca", "cert", "key", "verify", "extensions", "tokens"}) {
    for (const char* behind : {"", "&ttl=5s"}) {
      const auto url = store_url::parse("redlock+tls://h?" + std::string(key) + "=" + behind);
      ASSERT_FALSE(url) << key;
      EXPECT_EQ(url.error(), errc::invalid_argument);
      EXPECT_NE(url.error().message().find("a key without a value"), std::string::npos);
    }
  }
}

TEST(store_url, no_message_and_no_text_holds_the_password) {
  EXPECT_EQ(read("redis://me:hunter2@h?ttl=1s").str(), "redis://me@h?ttl=1s");
  EXPECT_EQ(read("redis://:hunter2@h").str().find("hunter2"), std::string::npos);
  for (const char* text :
       {"redis://me:hunter2@", "redis://me:hunter2%zz@h", "redis://me:hunter2@h?x"}) {
    const auto url = store_url::parse(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().message().find("hunter2"), std::string::npos);
  }
}

TEST(store_url, no_message_holds_a_password_that_is_cut_by_what_it_has) {
  for (const char* password : {"SEC/RET", "1234/RET", "SEC,RET", "1234,RET", "SEC?RET", "SEC?RET=1",
                               "1234?RET=1", "SEC?ca=RET", "SEC/0?RET", "S@C/RET", "S@C,RET",
                               "SEC,b/RET", "SEC?a=1&RET=1", "SEC?ttl=RET", "SEC/unix:RET"}) {
    for (const char* scheme :
         {"redis://", "redis+tls://", "redlock://", "etcd://", "zookeeper://"}) {
      for (const char* user : {"user:", ":"}) {
        const std::string text = std::string(scheme) + user + password + "@h1,h2/0?ttl=3s";
        const auto url = store_url::parse(text);
        ASSERT_FALSE(url) << text;
        EXPECT_EQ(url.error(), errc::invalid_argument);
        const std::string said = url.error().message();
        EXPECT_NE(said.find("%2f %3f %2c %23 %40"), std::string::npos) << said;
        for (const char* part : {"SEC", "RET", "1234", "user"}) {
          EXPECT_EQ(said.find(part), std::string::npos) << said;
        }
      }
    }
  }
  EXPECT_EQ(read("redis://u:%2f%3f%2c%23%40@h").password, "/?,#@");
  EXPECT_EQ(read("redis://u:a#b@c@h").password, "a#b@c");
}

TEST(store_url, an_at_sign_may_be_in_paths_and_names_of_files) {
  EXPECT_EQ(read("redis://u:p@unix:/run/a@b/s").hosts, strings{"unix:/run/a@b/s"});
  EXPECT_EQ(read("etcd://h1:1,unix:/run/a@b").hosts, (strings{"h1:1", "unix:/run/a@b"}));
  EXPECT_EQ(read("redis://[::1]:1/0?password_file=/a@b").value("password_file"), "/a@b");
  EXPECT_EQ(read("redis+tls://h:1?ca=/a@b&key=/c@d&cert=@").value("key"), "/c@d");
  EXPECT_EQ(read("local:/a@b?group=c@d").value("group"), "c@d");
  const auto url = read("etcd://u@h:1/a%40b/%40c%20");
  EXPECT_EQ(url.path, "/a@b/@c%20");
  EXPECT_EQ(url.str(), "etcd://u@h:1/a%40b/%40c%20");
}

TEST(store_url, a_user_is_printed_as_it_is_read) {
  const auto url = read("etcd://cn%3Da%2Cou%2Fb%3Ac%3F%40:word@h1");
  EXPECT_EQ(url.user, "cn=a,ou/b:c?@");
  EXPECT_EQ(url.str(), "etcd://cn%3Da%2Cou%2Fb%3Ac%3F%40@h1");
}

TEST(store_url, an_at_sign_is_printed_as_it_is_read) {
  EXPECT_EQ(read("local:/a@b?group=c%40d").str(), "local:/a@b?group=c@d");
  EXPECT_EQ(read("etcd://h1/a?b=%40").str(), "etcd://h1/a?b=%40");
  EXPECT_EQ(read("etcd://h:x/a?ca=/b%40c").str(), "etcd://h:x/a?ca=/b%40c");
}

TEST(store_url, names_an_unknown_option_and_those_that_exist) {
  const auto url = read("local:/a?grup=x&ttl=1s");
  const auto faulty = url.only({"group", "ttl"});
  ASSERT_FALSE(faulty);
  EXPECT_TRUE(faulty.error().message().ends_with("\"grup\"; it has group, ttl and max_ttl"));
  EXPECT_TRUE(url.only({"grup", "ttl"}));
  EXPECT_TRUE(url.only({}).error().message().ends_with("it has ttl and max_ttl"));
  EXPECT_TRUE(url.only({"ttl", "max_ttl"}).error().message().ends_with("it has ttl and max_ttl"));
}

TEST(store_url, a_bad_time_names_its_key) {
  const auto t = read("local:/a?ttl=15").time("ttl");
  ASSERT_FALSE(t);
  EXPECT_NE(t.error().message().find("ttl: duration \"15\""), std::string::npos);
}

RC_GTEST_PROP(store_url_property, what_is_printed_is_read_back, (const std::string& text)) {
  const auto url = store_url::parse("local:" + text);
  if (!url) return;  // Most texts are paths; RC_PRE would give up after the others.
  const auto again = store_url::parse(url->str());
  RC_ASSERT(again.has_value());
  RC_ASSERT(again->path == url->path);
  RC_ASSERT(again->query == url->query);
}

}  // namespace
}  // namespace holdfast::core
