#include "core/ttl_advice.hpp"

#include "core/lease.hpp"

#include <algorithm>

namespace holdfast::core {

namespace {

using namespace std::chrono_literals;

constexpr int steps_max = 200;

duration round_up(duration d) noexcept {
  const duration step = d < 1s ? duration(10ms) : d < 10s ? duration(100ms) : duration(1s);
  return (d + step - 1ns) / step * step;
}

}  // namespace

duration smallest_ttl(duration silence, duration latency, const early_stop& early) {
  duration least = duration::max();
  // By the second the silence is not over, as the header has it, and behind the fifth there is too
  // little left of a lease for any answer.
  for (const int sixths : {3, 4, 5}) {
    // Rounded up by what the division may have cut off.
    const duration until_beat = (silence + latency) / (sixths - 2) * 6 + 6ns;
    // usable(t) - k * t / 6 is t * (1 - 1/100 - k/6) - margin, that is t * (297 - 50 * k) / 300 -
    // margin.
    const auto with = [&](duration stop) {
      const duration until_answer = (stop + latency + margin) / (297 - 50 * sixths) * 300 + 300ns;
      return std::max({ttl_min, until_beat, until_answer});
    };
    duration ttl = with(0ns);
    // Each step is a part of the one before.
    for (int step = 0; early && step < steps_max && ttl < ttl_max; ++step) {
      const duration next = with(std::min(early(ttl), ttl_max));
      if (next <= ttl) break;
      ttl = next;
    }
    least = std::min(least, ttl);
  }
  return round_up(least);
}

}  // namespace holdfast::core
