#include "core/redlock/clock_watch.hpp"

#include "core/lease.hpp"
#include "core/redlock/rules.hpp"

#include <algorithm>

namespace holdfast::core::redlock {

clock_watch::verdict clock_watch::sample(server_time at, time_point sent,
                                         time_point received) noexcept {
  const reading r{at, sent, received};
  if (!origin_) {
    begin(r);
    return verdict::steady;
  }
  const bool fast = if_fast(at, received) - ahead_ > margin;
  const bool slow = behind_ - if_slow(at, sent) > margin;
  if (fast || slow) {
    begin(r);
    return fast ? verdict::stepped_forward : verdict::stepped_back;
  }
  if (active.step_since_last_look) {
    ahead_ = std::min(ahead_, if_fast(at, sent));
    behind_ = std::max(behind_, if_slow(at, received));
  }
  asked_ = sent;
  return verdict::steady;
}

void clock_watch::begin_anew(server_time written, time_point since, time_point now) noexcept {
  if (origin_) begin({written, active.record_is_no_step ? since : asked_, now});
}

void clock_watch::begin(const reading& r) noexcept {
  origin_ = r;
  asked_ = r.sent;
  ahead_ = if_fast(r.at, r.sent);
  behind_ = if_slow(r.at, r.received);
}

/// How far it is ahead of a clock that runs too fast by rho, when it was read at `then`.
duration clock_watch::if_fast(server_time at, time_point then) const noexcept {
  const duration since = then - origin_->sent;
  return duration(at - origin_->at) - (since + since / rho_divisor);
}

/// ... and of one that is too slow by rho.
duration clock_watch::if_slow(server_time at, time_point then) const noexcept {
  const duration since = then - origin_->sent;
  return duration(at - origin_->at) - (since - since / rho_divisor);
}

}  // namespace holdfast::core::redlock
