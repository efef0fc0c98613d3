#include "core/backoff.hpp"

#include "core/assert.hpp"

#include <algorithm>

namespace holdfast::core {

backoff::backoff(duration first, duration most) noexcept : first_(first), most_(most) {
  HOLDFAST_ASSERT(first > duration::zero() && first <= most);
}

duration backoff::next(std::uint64_t random) noexcept {
  // Beyond this step the doubled value is over `most_` for certain, and a shift would overflow.
  const bool capped = step_ >= 62 || first_.count() > (most_.count() >> step_);
  const std::int64_t whole = capped ? most_.count() : first_.count() << step_;
  if (!capped) ++step_;
  const std::int64_t half = whole / 2;
  const auto spread = static_cast<std::uint64_t>(whole - half) + 1;
  const duration pause(half + static_cast<std::int64_t>(random % spread));
  HOLDFAST_ASSERT(pause >= duration::zero() && pause <= most_);
  return pause;
}

}  // namespace holdfast::core
