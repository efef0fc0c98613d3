#pragma once

#include <holdfast/clock.hpp>

#include <functional>

namespace holdfast::core {

/// How long before the end of its lease somebody with such a ttl stops. It grows by less than what
/// the ttl grows by times 49/100, or there is no ttl for a long silence.
using early_stop = std::function<duration(duration ttl)>;

/// The smallest ttl with which a session survives a store that is silent for `silence` and then
/// acknowledges a heartbeat within `latency`.
///
/// The lease counts from the sending of the last heartbeat that was acknowledged. The next one is
/// sent a third of the ttl after it, and the others every sixth. In the worst case the silence
/// begins just before that next one would be acknowledged, so that the first one that is sent after
/// the silence, the k-th sixth after the last that was acknowledged, has to be acknowledged in
/// time:
///     ttl / 3 + latency + silence <= k * ttl / 6
///     k * ttl / 6 + latency <= usable(ttl) - early(ttl)
/// At least ttl_min; rounded up to what people would write.
duration smallest_ttl(duration silence, duration latency, const early_stop& early = {});

}  // namespace holdfast::core
