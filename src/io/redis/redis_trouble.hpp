#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <string>

/// How a connection to Redis ends without its owner's wish: each is `unavailable`, without the
/// node's name, and asks what may be wrong. `tls`: the connection was to be encrypted.
namespace holdfast::io::redis_trouble {

/// The first try is under way.
error not_yet(duration limit);
/// The stream was lost while the handshake was under way.
error ended_early(const error& why, bool tls);
error not_ready(duration limit, bool tls);
/// No answer for so long while some were due.
error silent(duration limit);
/// `greeted`: the handshake was done.
error no_resp(const std::string& failure, bool greeted, bool tls);

}  // namespace holdfast::io::redis_trouble
