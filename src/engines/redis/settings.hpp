#pragma once

#include "core/store_url.hpp"
#include "io/net/node_address.hpp"
#include "io/net/tls_source.hpp"
#include "io/redis/redis_handshake.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::engines::redis {

/// What a `redis://` URL says, checked. docs/redis.md has the keys and their meaning.
struct settings {
  /// What a server with replicas is allowed to be.
  enum class replication : std::uint8_t {
    refused,  ///< Such a server is not used.
    ignored,  ///< Used as if it had none: what a failover forgets is lost.
    awaited   ///< Every write counts only once `replicas` of them have it.
  };

  io::node_address node{};
  io::redis_login login{};
  std::shared_ptr<io::tls_source> tls{};  ///< Null: plain text.
  bool assume_fresh{};
  duration max_ttl{};
  bool max_ttl_given{};     ///< By the URL, else it is the default.
  duration node_timeout{};  ///< For one operation.
  replication with_replicas{replication::refused};
  std::uint32_t replicas{};
  std::string url{};       ///< Canonical, without secrets.
  std::string identity{};  ///< Of the store, however it is used: the server and the database.
};

/// Reads the URL, the password file and the certificates; connects to nothing.
/// Errors: `invalid_argument`, `unsupported`.
result<settings> read_settings(const core::store_url& url);

}  // namespace holdfast::engines::redis
