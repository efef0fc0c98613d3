#pragma once

#include "core/redlock/quorum.hpp"
#include "core/store_url.hpp"
#include "io/net/node_address.hpp"
#include "io/net/tls_source.hpp"
#include "io/redis/redis_handshake.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::engines::redlock {

/// What a `redlock://` URL says, checked. docs/redlock.md has the keys and their meaning.
struct settings {
  static constexpr std::uint32_t no_limit = std::numeric_limits<std::uint32_t>::max();

  std::vector<io::node_address> nodes{};
  io::redis_login login{};
  std::shared_ptr<io::tls_source> tls{};  ///< Null: plain text.
  bool tokens{true};
  bool assume_fresh{};
  bool may_evict{};  ///< Servers that may drop keys when their memory limit is reached are used.
  std::optional<duration> ttl{};  ///< What the URL says; the client has checked it.
  duration max_ttl{};
  bool max_ttl_given{};  ///< By the URL, else it is the default.
  std::optional<duration> node_timeout{};
  std::uint32_t extensions{no_limit};  ///< How often one lock may be extended.
  std::string config_hash{};           ///< Of the list of nodes: equal for equal lists.
  std::string url{};                   ///< Canonical, without secrets.
  std::string identity{};              ///< Of the servers and the database, however they are used.

  /// The node timeout for locks of this ttl: ttl/200 between 5 and 50 ms unless the URL says.
  duration timeout_for(duration lease) const noexcept;
  /// The limit on extensions, a clause for people; empty without one.
  std::string extension_limit() const;
  /// What is wrong with an even number of nodes, for people; empty of an odd one.
  std::string even_nodes() const;
};

/// Reads the URL, the password file and the certificates; connects to nothing.
/// Errors: `invalid_argument`, `unsupported`.
result<settings> read_settings(const core::store_url& url);

}  // namespace holdfast::engines::redlock
