#include "io/net/tls_url.hpp"

#include "core/invalid.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::io {

namespace {

using core::invalid;

}  // namespace

result<std::shared_ptr<tls_source>> tls_of(const core::store_url& url, std::string protocol) {
  using verification = tls_options::verification;
  tls_options options{.verify = verification::name_and_ca,
                      .ca_file = url.value("ca"),
                      .certificate_file = url.value("cert"),
                      .key_file = url.value("key"),
                      .protocol = std::move(protocol)};
  const std::string verify = url.value("verify");
  const bool asked = !options.ca_file.empty() || !options.certificate_file.empty() ||
                     !options.key_file.empty() || !verify.empty();
  if (!url.tls) {
    if (!asked) return std::shared_ptr<tls_source>();
    // Else a forgotten +tls would mean plain text, without a word.
    return invalid("ca, cert, key and verify are for " + url.scheme + "+tls://; this URL is " +
                   url.scheme + "://");
  }
  if (verify == "ca") {
    options.verify = verification::ca;
  } else if (verify == "none") {
    options.verify = verification::none;
  } else if (!verify.empty() && verify != "full") {
    return invalid("the URL's verify is '" + verify + "'; it must be full, ca or none");
  }
  const auto socket = std::ranges::find_if(
      url.hosts, [](const std::string& host) { return host.starts_with("unix:"); });
  if (options.verify == verification::name_and_ca && socket != url.hosts.end()) {
    return invalid("the URL has TLS and the server " + *socket +
                   ": a socket has no name that a certificate could be compared with; give "
                   "verify=ca, and ca= with the CA of that server (or verify=none)");
  }
  return tls_source::make(std::move(options));
}

}  // namespace holdfast::io
