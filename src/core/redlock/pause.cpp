#include "core/redlock/pause.hpp"

#include "core/assert.hpp"

#include <algorithm>

namespace holdfast::core::redlock {

namespace {

constexpr std::int64_t rounds_apart = 4;  ///< The lower bound of the first pause, in rounds.

/// From `least` to twice that.
duration spread(duration least, std::uint64_t random) noexcept {
  HOLDFAST_ASSERT(least > duration::zero());
  const auto more = static_cast<std::uint64_t>(least.count());
  return least + duration(static_cast<std::int64_t>(random % (more + 1)));
}

}  // namespace

pause::pause(config c) noexcept : config_(c), round_(c.round) {
  HOLDFAST_ASSERT(c.round > duration::zero() && c.most > duration::zero());
  HOLDFAST_ASSERT(c.poll_while_notified > duration::zero());
}

void pause::measured(duration took) noexcept {
  // One slow round is forgotten after some quick ones.
  round_ = std::max({took, round_ - round_ / 8, duration(1)});
}

backoff pause::growth() const noexcept {
  const duration first = std::min(2 * rounds_apart * round_, config_.most);
  return {first, std::max(first, config_.most)};
}

duration pause::growth_at(int failures, std::uint64_t random) const noexcept {
  HOLDFAST_ASSERT(failures >= 0 && failures <= failures_max);
  backoff b = growth();
  for (int i = 0; i < failures; ++i) b.next(0);
  return b.next(random);
}

duration pause::cut(duration d, std::uint64_t random,
                    std::optional<duration> holder_left) const noexcept {
  if (!holder_left) return d;
  const duration left = std::max(*holder_left, duration::zero());
  // A node may name any number: the sum must not overflow.
  const duration shorter = left >= d ? d : std::min(d, left + growth_at(0, random));
  HOLDFAST_ASSERT(shorter >= duration::zero() && shorter <= d);
  return shorter;
}

duration pause::next(std::uint64_t random, std::optional<duration> holder_left) noexcept {
  const duration d = growth_at(failures_, random);
  if (failures_ < failures_max) ++failures_;
  return cut(d, random, holder_left);
}

duration pause::next_while_notified(std::uint64_t random,
                                    std::optional<duration> holder_left) noexcept {
  const duration d = std::max(next(random), spread(config_.poll_while_notified, random));
  return cut(d, random, holder_left);
}

duration pause::after_notification(std::uint64_t random) const noexcept {
  const auto most = static_cast<std::uint64_t>(std::min(2 * round_, config_.most).count());
  return duration(static_cast<std::int64_t>(random % (most + 1)));
}

}  // namespace holdfast::core::redlock
