#pragma once

#include "io/redis/redis_client_fixture.hpp"
#include "tests/redis_io/server_address.hpp"
#include "tests/redis_server/certificate.hpp"

namespace holdfast::io {

/// Redis servers that speak TLS, and who signed their certificates.
class tls_fixture : public testing::Test {
 protected:
  std::vector<std::string> settings(const certificate& c, const char* wants_client = "no") const {
    return {"--tls-cert-file",    c.certificate_file(),   "--tls-key-file",     c.key_file(),
            "--tls-ca-cert-file", ca_.certificate_file(), "--tls-auth-clients", wants_client};
  }
  static redis_options to(const node_address& address, const tls_options& tls) {
    auto made = tls_source::make(tls);
    EXPECT_TRUE(made) << made.error().message();
    return {.address = address, .tls = *made};
  }
  tls_options trusting_ca() const { return {.ca_file = ca_.certificate_file()}; }
  tls_options showing(const certificate& c) const {
    return {.ca_file = ca_.certificate_file(),
            .certificate_file = c.certificate_file(),
            .key_file = c.key_file()};
  }

  tests::temporary_directory directory_;
  certificate ca_{{.directory = directory_.path(), .name = "ca"}};
  certificate good_{{.directory = directory_.path(),
                     .name = "good",
                     .alternative = "DNS:localhost,IP:127.0.0.1",
                     .issuer = &ca_}};
};

}  // namespace holdfast::io
