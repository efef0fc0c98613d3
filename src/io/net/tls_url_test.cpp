#include "io/net/tls_url.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::io {
namespace {

auto read(const std::string& url) { return tls_of(core::store_url::parse(url).value()); }

// OpenSSL takes an empty name for any, so that every certificate of the CAs would do.
TEST(tls_url, a_socket_is_refused_where_the_name_is_to_be_verified) {
  for (const std::string scheme : {"etcd", "redis", "redlock"}) {
    for (const char* rest : {"unix:/run/s", "unix:/run/s?verify=full", "h,unix:/run/s"}) {
      const auto refused = read(scheme + "+tls://" + rest);
      ASSERT_FALSE(refused) << scheme << rest;
      EXPECT_EQ(refused.error(), errc::invalid_argument);
      EXPECT_NE(refused.error().message().find("unix:/run/s"), std::string::npos)
          << refused.error().message();
      EXPECT_NE(refused.error().message().find("give verify=ca"), std::string::npos)
          << refused.error().message();
    }
    for (const char* rest : {"+tls://unix:/run/s?verify=ca", "+tls://unix:/run/s?verify=none",
                             "+tls://h", "://unix:/run/s"}) {
      EXPECT_TRUE(read(scheme + rest)) << scheme << rest;
    }
  }
}

TEST(tls_url, that_asks_for_tls_is_never_one_without) {
  for (const char* url :
       {"redis+tls://h", "etcd+tls://h?verify=ca", "redlock+tls://h?verify=none"}) {
    const auto asked = read(url);
    ASSERT_TRUE(asked) << url;
    EXPECT_NE(*asked, nullptr) << url;
  }
  const auto plain = read("redis://h");
  ASSERT_TRUE(plain);
  EXPECT_EQ(*plain, nullptr);
}

TEST(tls_url, with_what_is_for_tls_and_without_tls_is_refused) {
  for (const char* what : {"ca=/c", "cert=/c", "key=/c", "verify=full", "verify=none"}) {
    const auto refused = read(std::string("redis://h?") + what);
    ASSERT_FALSE(refused) << what;
    EXPECT_EQ(refused.error(), errc::invalid_argument);
    EXPECT_NE(refused.error().message().find("are for redis+tls://"), std::string::npos);
  }
}

TEST(tls_url, with_another_word_for_whom_to_trust_is_refused) {
  for (const char* word : {"no", "None", "0", "peer"}) {
    const auto refused = read(std::string("redis+tls://h?verify=") + word);
    ASSERT_FALSE(refused) << word;
    EXPECT_NE(refused.error().message().find("must be full, ca or none"), std::string::npos);
  }
}

}  // namespace
}  // namespace holdfast::io
