#pragma once

#include "core/store_url.hpp"
#include "io/net/node_address.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <string>
#include <vector>

namespace holdfast::engines::zookeeper {

/// What a `zookeeper://` URL says, checked. docs/zookeeper.md has the keys and their meaning.
struct settings {
  std::vector<io::node_address> servers{};
  std::string root{};  ///< The node below which everything is: "/holdfast".
  std::string user{};  ///< Empty: no authentication, and nodes that everybody may change.
  std::string password{};
  std::string password_file{};  ///< Where it is; empty: in the URL.
  duration node_timeout{};      ///< For one answer of a server.
  std::string url{};            ///< Canonical, without secrets.
  std::string identity{};       ///< Equal for equal stores, in whatever order servers are named.
};

/// Reads the URL and the password file; connects to nothing.
/// Errors: `invalid_argument`, `unsupported`.
result<settings> read_settings(const core::store_url& url);

}  // namespace holdfast::engines::zookeeper
