#include "core/redlock/owed_release.hpp"

#include "core/assert.hpp"
#include "core/redlock/rules.hpp"
#include "core/splitmix.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::core::redlock {

owed_release::owed_release(config c, node_set to, time_point last_sent)
    : owed_(to), until_(last_sent + c.ttl), config_(c), pause_(c.timeout, c.ttl) {
  HOLDFAST_ASSERT(c.timeout > duration::zero() && c.timeout <= c.ttl);
}

owed_release::step owed_release::start(node_set up, time_point now) {
  HOLDFAST_ASSERT(up_.empty() && under_way_.empty() && !reported_);
  up_ = up;
  return next(owed_ & up_, now);
}

owed_release::step owed_release::answered(node_index i, bool deleted, std::uint64_t connection,
                                          time_point now) {
  const trace& t = traces_[i];
  under_way_.remove(i);
  const bool settles =
      deleted || t.settled_before || connection == t.connection || !active.settle_behind_acquire;
  if (settles && (now >= t.late_until || !active.settle_after_repair)) owed_.remove(i);
  return next({}, now);
}

owed_release::step owed_release::failed(node_index i, time_point now) {
  under_way_.remove(i);
  return next({}, now);
}

owed_release::step owed_release::refused(node_index i, time_point now) {
  under_way_.remove(i);
  return next(owed_ & up_ & node_set::only(i), now);
}

owed_release::step owed_release::connected(node_index i, time_point now) {
  up_.add(i);
  return next(owed_ & node_set::only(i), now);
}

owed_release::step owed_release::disconnected(node_index i, time_point now) {
  up_.remove(i);
  under_way_.remove(i);
  return next({}, now);
}

owed_release::step owed_release::tick(time_point now) {
  if (now < resend_) return next({}, now);
  resend_ = time_point::max();
  return next((owed_ & up_) - under_way_, now);
}

owed_release::step owed_release::next(node_set send, time_point now) {
  HOLDFAST_ASSERT((send - (owed_ & up_)).empty());
  // What is settled, or was lost with its connection, is no longer waited for.
  HOLDFAST_ASSERT((under_way_ - (owed_ & up_)).empty());
  step s;
  over_ = over_ || now >= until_;
  if (owed_.empty() || over_) {
    s.finished = !std::exchange(reported_, true);
    return s;
  }
  under_way_ = under_way_ | send;
  s.send = send;
  const node_set again = (owed_ & up_) - under_way_;
  if (again.empty()) {
    resend_ = time_point::max();
  } else if (resend_ == time_point::max()) {
    resend_ = now + pause_.next(splitmix(config_.seed));
  }
  s.wake = std::min(until_, resend_);
  HOLDFAST_ASSERT(!reported_ && result() == outcome::pending);
  return s;
}

owed_release::outcome owed_release::result() const noexcept {
  if (owed_.empty()) return outcome::released;
  return over_ ? outcome::expires : outcome::pending;
}

}  // namespace holdfast::core::redlock
