#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <string>

namespace holdfast::io {

/// What people are told of a gRPC server that does not talk to us, and what they may look at.

/// It was lost before it said anything: a peer that does not understand us says nothing and goes.
error gone_unheard(const error& why, bool encrypted);
/// It sent what is no HTTP/2; `greeted`: after some that was. Before that the port is not the one
/// that is meant, which needs a person.
error unreadable_http2(const std::string& why, bool greeted);
/// It did not get ready in time.
error never_ready(duration after, bool encrypted);
/// It sent nothing while answers were due.
error fell_silent(duration after);
/// It says something, and begins no call.
error takes_no_calls(duration after);
/// It wants answers of HTTP/2 itself, to PING say, which are in no call, and does not take them.
error reads_nothing();

}  // namespace holdfast::io
