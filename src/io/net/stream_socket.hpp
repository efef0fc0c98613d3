#pragma once

#include "io/file/unique_fd.hpp"
#include "io/net/node_address.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <sys/socket.h>

#include <functional>
#include <string>
#include <vector>

namespace holdfast::io {

/// One address that a socket can be connected to.
struct socket_address {
  sockaddr_storage bytes{};
  socklen_t size{};
};

/// The number of the host, without its port: "127.0.0.1". Of a unix socket its path.
std::string text_of(const socket_address& address);

/// Every address of a node, in the order of getaddrinfo(3), none twice. A number or a path is
/// answered at once on the calling thread, a name later on a thread of its own: the system's
/// resolver cannot be bounded or cancelled. Who asks for a name that is being looked up is told
/// what that brings, on the same thread; an answer that took long is told for a while, at once.
/// Errors: `unavailable`.
void look_up(const node_address& node,
             std::function<void(result<std::vector<socket_address>>)> found);

/// Whether look_up() asks somebody else: it is no number and no path.
bool is_name(const node_address& node);

/// For people: look_up() has not answered for so long.
std::string no_address_yet(const node_address& node, duration waited);

/// A socket that does not block, closed on exec, which is being connected: it can be written when
/// that has ended. Over TCP without Nagle's delay, and given up by the kernel when the peer's host
/// confirms nothing for `silence_max`.
/// Errors: `unavailable`, with the reason alone.
result<unique_fd> start_connecting(const socket_address& to, duration silence_max);

/// How connecting ended.
/// Errors: `unavailable`, with the reason alone.
result<void> end_connecting(int fd);

}  // namespace holdfast::io
