#pragma once

#include <holdfast/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::io {

/// Where a server listens: a host and a port, or a unix socket.
struct node_address {
  std::string host{};    ///< A name or an address, without brackets. Empty for a unix socket.
  std::uint16_t port{};  ///< Zero for a unix socket.
  std::string path{};    ///< Of the unix socket.

  /// "host", "host:port", "[v6]:port", "[v6]" or "unix:/path".
  /// Errors: `invalid_argument`.
  static result<node_address> parse(std::string_view text, std::uint16_t port_if_none);

  /// As it is written in a URL.
  std::string text() const;
  bool is_unix() const noexcept { return !path.empty(); }
};

/// All of them, comma-separated, in an order of its own: equal for equal servers.
std::string text_of(const std::vector<node_address>& servers);

}  // namespace holdfast::io
