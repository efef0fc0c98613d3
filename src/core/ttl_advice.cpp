#include "core/ttl_advice.hpp"

#include "core/lease.hpp"

#include <algorithm>

namespace holdfast::core {

namespace {

using namespace std::chrono_literals;

duration round_up(duration d) noexcept {
  const duration step = d < 1s ? duration(10ms) : d < 10s ? duration(100ms) : duration(1s);
  return (d + step - 1ns) / step * step;
}

}  // namespace

duration smallest_ttl(duration silence, duration latency) noexcept {
  // usable(t) - t / 6 is t * (1 - 1/100 - 1/6) - margin, that is t * 247/300 - margin.
  const duration bare = silence + 2 * latency + margin;
  return std::max(ttl_min, round_up(bare / 247 * 300 + 300ns));
}

}  // namespace holdfast::core
