#pragma once

#include "core/store_url.hpp"
#include "io/net/node_address.hpp"
#include "io/net/tls_source.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::engines::etcd {

/// What an `etcd://` URL says, checked. docs/etcd.md has the keys and their meaning.
struct settings {
  std::vector<io::node_address> servers{};
  std::string prefix{};  ///< Of all keys, with a slash at its end.
  std::string user{};    ///< Empty: no authentication, but perhaps by certificate.
  std::string password{};
  std::string password_file{};            ///< Where it is; empty: in the URL.
  std::shared_ptr<io::tls_source> tls{};  ///< Null: plain text.
  duration node_timeout{};                ///< For one call to one server.
  std::string url{};                      ///< Canonical, without secrets.
};

/// Reads the URL, the password file and the certificates; connects to nothing.
/// Errors: `invalid_argument`, `unsupported`.
result<settings> read_settings(const core::store_url& url);

}  // namespace holdfast::engines::etcd
