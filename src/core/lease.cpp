#include "core/lease.hpp"

#include "core/assert.hpp"
#include "core/rules.hpp"

#include <algorithm>

namespace holdfast::core {

namespace {

std::int64_t ticks(time_point t) noexcept { return t.time_since_epoch().count(); }

}  // namespace

// A lease that is lost is lost for good, and nothing but expire() and lose() says that it is: a
// deadline that happened to be the mark of a lost one would end it without anybody hearing of it.
void lease::start(time_point until) noexcept {
  HOLDFAST_ASSERT(is_lost() && ticks(until) != lost);
  until_.store(ticks(until), std::memory_order_release);
}

bool lease::extend(time_point until, time_point now) noexcept {
  std::int64_t old = until_.load(std::memory_order_acquire);
  for (;;) {
    const bool over = old == lost || ticks(now) >= old;
    if (active.extend_only_in_time && over) {
      if (old == lost) return false;
      if (until_.compare_exchange_weak(old, lost)) return false;
      continue;
    }
    // From the very value that was found in time: who marks it lost in between wins. Answers come
    // in any order, and none takes time back.
    if (until_.compare_exchange_weak(old, std::max(old, ticks(until)))) return true;
  }
}

void lease::shorten(time_point until) noexcept {
  HOLDFAST_ASSERT(ticks(until) != lost);
  std::int64_t old = until_.load(std::memory_order_acquire);
  while (old != lost && ticks(until) < old) {
    if (until_.compare_exchange_weak(old, ticks(until))) return;
  }
}

bool lease::check(duration needed, time_point now) noexcept {
  const std::int64_t until = until_.load(std::memory_order_acquire);
  if (until == lost) return false;
  const std::int64_t left = until - ticks(now);
  if (left > 0) return left >= needed.count();
  expire(now);
  return false;
}

bool lease::expire(time_point now) noexcept {
  std::int64_t old = until_.load(std::memory_order_acquire);
  while (old != lost && ticks(now) >= old) {
    if (until_.compare_exchange_weak(old, lost)) return true;
  }
  return false;
}

bool lease::lose() noexcept { return until_.exchange(lost) != lost; }

duration lease::remaining(time_point now) const noexcept {
  const std::int64_t until = until_.load(std::memory_order_acquire);
  if (until == lost || until <= ticks(now)) return duration::zero();
  return duration(until - ticks(now));
}

time_point lease::until() const noexcept {
  return time_point(duration(until_.load(std::memory_order_acquire)));
}

}  // namespace holdfast::core
