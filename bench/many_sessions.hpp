#pragma once

#include "bench/call_count.hpp"
#include "core/engine.hpp"

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

/// Until a waiter sleeps. Both sides of a hand-over do it: a server and a client that were idle
/// answer later than those of a busy loop.
void settle();

/// From the release of one session until the other one, which waits, knows that it has the lock; in
/// microseconds, the median. Both take turns.
double hand_over_p50(session& first, session& second, double seconds);

/// What one release and the grant that follows cost when so many wait for the lock.
struct herd {
  double calls{};  ///< Of all clients together, the release and the winner's last look included.
  double woken{};  ///< How many waiters were notified.
};
herd measure_herd(core::engine& e, const call_count& inside, std::size_t waiters);

/// Calls in ten seconds of a session that holds so many locks and beats every one.
double calls_while_holding(const std::string& url, std::size_t count, const counted& inside);

}  // namespace holdfast::bench
