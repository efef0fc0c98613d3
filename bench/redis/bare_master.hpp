#pragma once

#include "bench/redis/bare_nodes.hpp"

#include <holdfast/session_id.hpp>

#include <cstdint>
#include <string>

namespace holdfast::bench {

/// What a client of one master must at least do: a session's record, and the scripts of the store
/// over one connection. Its session is renewed by nobody.
class bare_master {
 public:
  explicit bare_master(int port);

  bare_nodes& connection() noexcept { return connection_; }
  /// The channel of this client; its messages come by a connection that has subscribed to it.
  std::string subscribe() const;

  /// The same request again is the same entry.
  std::string enqueue(const std::string& name, std::uint64_t request) const;
  std::string confirm(const std::string& name, std::uint64_t request) const;
  std::string leave(const std::string& name, std::uint64_t request) const;
  std::string beat() const;

 private:
  bare_nodes connection_;
  const session_id id_;
  const std::string client_;
  std::string nonce_;
  std::uint64_t inc_{};
};

/// Of the store that is there.
std::string nonce_of(bare_nodes& connection);
/// How often the server ran a command since it was reset.
double calls(bare_nodes& connection, const std::string& command);
void reset_calls(bare_nodes& connection);

}  // namespace holdfast::bench
