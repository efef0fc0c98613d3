#include "io/net/tls_failure.hpp"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

namespace holdfast::io {
namespace {

error failed_of(unsigned long code, long verdict = X509_V_OK) {
  return error_of({.host = "h", .code = code, .verdict = verdict});
}

TEST(tls_failure, needs_a_person_where_the_port_or_a_certificate_is_not_the_right_one) {
  const auto plain = failed_of(ERR_PACK(ERR_LIB_SSL, 0, SSL_R_WRONG_VERSION_NUMBER));
  EXPECT_TRUE(plain.needs_operator()) << plain.message();
  EXPECT_TRUE(is_tls_failure(plain));
  const auto stranger = failed_of(ERR_PACK(ERR_LIB_SSL, 0, SSL_R_CERTIFICATE_VERIFY_FAILED),
                                  X509_V_ERR_HOSTNAME_MISMATCH);
  EXPECT_TRUE(stranger.needs_operator()) << stranger.message();
  EXPECT_NE(stranger.message().find("not accepted"), std::string::npos) << stranger.message();
}

TEST(tls_failure, may_pass_where_the_peer_only_ended_the_stream) {
  EXPECT_FALSE(failed_of(0).needs_operator());
}

}  // namespace
}  // namespace holdfast::io
