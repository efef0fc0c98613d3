#include "core/redlock/clock_watch.hpp"

#include "core/assert.hpp"
#include "core/lease.hpp"
#include "core/redlock/rules.hpp"

#include <algorithm>

namespace holdfast::core::redlock {

clock_watch::clock_watch(duration window) noexcept : window_(window) {
  HOLDFAST_ASSERT(window > duration::zero());
}

clock_watch::verdict clock_watch::sample(server_time at, time_point sent,
                                         time_point received) noexcept {
  const reading r{at, sent, received};
  for (std::size_t i = count_; i > 0; --i) {
    const verdict v = compare(readings_[i - 1], r);
    if (v == verdict::steady) continue;
    count_ = 0;
    keep(r);
    return v;
  }
  keep(r);
  return verdict::steady;
}

void clock_watch::begin_anew(server_time written, time_point since, time_point now) noexcept {
  if (count_ == 0) return;
  const time_point from = active.record_is_no_step ? since : readings_[count_ - 1].sent;
  readings_[0] = {written, from, now};
  count_ = 1;
}

clock_watch::verdict clock_watch::compare(const reading& old, const reading& r) noexcept {
  const duration moved = r.at - old.at;
  const duration most = r.received - old.sent;
  const duration least = std::max(r.sent - old.received, duration::zero());
  const duration fast = moved - (most + most / rho_divisor + margin);
  const duration slow = (least - least / rho_divisor - margin) - moved;
  if (fast > duration::zero()) return verdict::stepped_forward;
  return slow > duration::zero() ? verdict::stepped_back : verdict::steady;
}

/// Keeps readings a part of the window from each other: together they span all of it.
void clock_watch::keep(const reading& r) noexcept {
  const duration apart = window_ / static_cast<std::int64_t>(remembered - 1);
  if (count_ > 0 && r.sent - readings_[count_ - 1].sent < apart) return;
  if (count_ == remembered) {
    std::move(readings_.begin() + 1, readings_.end(), readings_.begin());
    --count_;
  }
  readings_[count_++] = r;
  HOLDFAST_ASSERT(count_ <= remembered);
}

}  // namespace holdfast::core::redlock
