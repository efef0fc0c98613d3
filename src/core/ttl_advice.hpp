#pragma once

#include <holdfast/clock.hpp>

namespace holdfast::core {

/// The smallest ttl with which a session survives a store that is silent for `silence` and then
/// acknowledges a heartbeat within `latency`.
///
/// The worst case is a silence that begins when a heartbeat has just been acknowledged. The next
/// ones are sent a third of the ttl later and then every sixth, so after the silence one is sent
/// within a sixth of the ttl, and its answer has to come before the lease ends, which counts from
/// the sending of the last one that was acknowledged:
///     latency + silence + ttl / 6 + latency <= usable(ttl)
/// At least ttl_min; rounded up to what people would write.
duration smallest_ttl(duration silence, duration latency) noexcept;

}  // namespace holdfast::core
