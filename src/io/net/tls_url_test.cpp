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

}  // namespace
}  // namespace holdfast::io
