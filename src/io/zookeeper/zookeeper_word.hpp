#pragma once

#include "io/net/node_address.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <string>
#include <string_view>

namespace holdfast::io {

/// What a ZooKeeper server says to one of its words of four letters, "srvr" or "conf", on a
/// connection of its own. Blocks the calling thread for at most `limit`.
/// Errors: `unavailable`, which names the server.
result<std::string> ask_zookeeper(const node_address& server, std::string_view word,
                                  duration limit);

}  // namespace holdfast::io
