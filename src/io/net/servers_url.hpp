#pragma once

#include "core/store_url.hpp"
#include "io/net/node_address.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::io {

/// What differs between engines whose URL names the servers of one cluster.
struct servers_rule {
  const char* scheme;  ///< For messages: "etcd".
  std::uint16_t port;  ///< Of a server that names none.
  bool unix_sockets;   ///< A server may be a path.
};

/// What such a URL says, checked: `scheme://[user[:password]@]server,server?node_timeout=`.
struct servers_url {
  std::vector<node_address> servers{};  ///< None twice.
  std::string user{};                   ///< Empty: none, and no password either.
  std::string password{};
  std::string password_file{};  ///< Where the password is; empty: in the URL, or there is none.
  duration node_timeout{};      ///< 2 s when the URL says nothing.
};

/// Reads the password file, too; connects to nothing. Errors: `invalid_argument` with the part of
/// the URL that is wrong.
result<servers_url> servers_of(const core::store_url& url, const servers_rule& rule);

}  // namespace holdfast::io
