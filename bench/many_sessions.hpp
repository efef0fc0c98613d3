#pragma once

#include "bench/call_count.hpp"

#include <holdfast/session.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace holdfast::bench {

/// \file
/// What sessions on servers are held to, whatever the engine. All throw std::runtime_error when
/// somebody gets nothing.

using counted = std::function<std::unique_ptr<call_count>(const std::string& url)>;

/// From the release of one session until the other one, which waits, knows that it has the lock; in
/// microseconds, the median. Both take turns.
double hand_over_p50(session& first, session& second, double seconds);

/// How many calls one release and the grant that follows take when so many sessions wait.
double calls_of_a_hand_over(const std::string& url, std::size_t waiters, const counted& inside);

/// Calls in ten seconds of a session that holds so many locks and beats every one.
double calls_while_holding(const std::string& url, std::size_t count, const counted& inside);

}  // namespace holdfast::bench
