#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <cstddef>
#include <string>

/// How a connection to Redis ends without its owner's wish, and why it takes nothing: each is
/// `unavailable`, without the node's name, and asks what may be wrong. `tls`: the connection was to
/// be encrypted.
namespace holdfast::io::redis_trouble {

/// The first try is under way.
error not_yet(duration limit);
/// The stream was lost while the handshake was under way.
error ended_early(const error& why, bool tls);
error not_ready(duration limit, bool tls);
/// No answer for so long while some were due.
error silent(duration limit);
/// A command was not queued behind so much that waits.
error too_much(std::size_t unanswered, std::size_t unsent_bytes);
/// `greeted`: the handshake was done.
error no_resp(const std::string& failure, bool greeted, bool tls);

}  // namespace holdfast::io::redis_trouble
