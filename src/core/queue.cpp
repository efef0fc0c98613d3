#include "core/queue.hpp"

#include "core/assert.hpp"
#include "core/rules.hpp"

#include <algorithm>

namespace holdfast::core {

namespace {

/// Where `mine` is in the queue; its size when absent. Entries are in order of arrival.
std::size_t index_of(std::span<const entry> live, token mine) noexcept {
  const auto at = std::lower_bound(live.begin(), live.end(), mine,
                                   [](const entry& e, token t) { return e.order < t; });
  if (at == live.end() || at->order != mine) return live.size();
  return static_cast<std::size_t>(at - live.begin());
}

bool granted_at(std::span<const entry> live, std::size_t i) noexcept {
  const mode& how = live[i].how;
  if (how.is_permits()) return i < how.limit();
  return std::none_of(live.begin(), live.begin() + static_cast<std::ptrdiff_t>(i),
                      [&](const entry& e) { return excludes(e.how, how); });
}

/// The index of the youngest entry before `i` that a shared waiter must outlive.
std::size_t writer_before(std::span<const entry> live, std::size_t i) noexcept {
  std::size_t at = i - 1;
  if (!active.shared_watches_writer) return at;
  while (at > 0 && live[at].how.is_shared()) --at;
  // It waits, so that somebody before it is no reader.
  HOLDFAST_ASSERT(!live[at].how.is_shared());
  return at;
}

}  // namespace

bool excludes(const mode& a, const mode& b) noexcept {
  if (a.is_exclusive() || b.is_exclusive()) return true;
  // Permits exclude nobody of their own kind here: their number is counted, not compared in pairs.
  return a.is_shared() != b.is_shared();
}

bool agrees(const mode& a, const mode& b) noexcept {
  if (a.is_permits() != b.is_permits()) return false;
  return !a.is_permits() || a.limit() == b.limit();
}

bool fits(std::span<const entry> live, const mode& how) noexcept {
  return std::all_of(live.begin(), live.end(), [&](const entry& e) { return agrees(e.how, how); });
}

bool granted(std::span<const entry> live, token mine) noexcept {
  const std::size_t i = index_of(live, mine);
  return i < live.size() && granted_at(live, i);
}

std::vector<token> watch_targets(std::span<const entry> live, token mine) {
  const std::size_t i = index_of(live, mine);
  if (i == live.size() || granted_at(live, i)) return {};
  const mode& how = live[i].how;
  // The oldest holds the lock.
  HOLDFAST_ASSERT(i > 0 || how.is_permits());
  if (how.is_exclusive()) return {live[i - 1].order};
  if (how.is_shared()) return {live[writer_before(live, i)].order};
  // While all n are there it is not granted, whoever else goes: so one of them has to go.
  std::vector<token> targets;
  targets.reserve(how.limit());
  for (std::size_t k = i - how.limit(); k < i; ++k) targets.push_back(live[k].order);
  return targets;
}

std::size_t ahead_of(std::span<const entry> live, token mine) noexcept {
  const auto at = std::lower_bound(live.begin(), live.end(), mine,
                                   [](const entry& e, token t) { return e.order < t; });
  return static_cast<std::size_t>(at - live.begin());
}

}  // namespace holdfast::core
