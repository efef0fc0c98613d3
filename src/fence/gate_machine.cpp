#include "fence/gate_machine.hpp"

#include "core/assert.hpp"

#include <algorithm>

namespace holdfast::fencing {

floors floors::with(token t, sharing how) const noexcept {
  floors next = *this;
  if (how == sharing::exclusive) next.floor = std::max(floor, t);
  next.newest = std::max(newest, t);
  return next;
}

floors floors::merged(const floors& other) const noexcept {
  return {std::max(floor, other.floor), std::max(newest, other.newest)};
}

void gate_machine::arrived(token t, sharing how) noexcept {
  // Then nobody is invalidated, and the newer one waits for the older ones to end.
  if (policy_ == older_passes::wait) return;
  for (auto& [id, p] : passes_) {
    if (in_the_way(p, t, how)) p.valid = false;
  }
}

bool gate_machine::must_wait(token t, sharing how) const noexcept {
  return std::ranges::any_of(passes_, [&](const auto& each) {
    const open_pass& p = each.second;
    // An invalid pass cannot be stopped in the middle of its commit.
    return in_the_way(p, t, how) && (policy_ == older_passes::wait || p.commits > 0);
  });
}

std::uint64_t gate_machine::open(token t, sharing how) {
  HOLDFAST_ASSERT(!must_wait(t, how));
  passes_.emplace(++last_, open_pass{t, how});
  return last_;
}

void gate_machine::close(std::uint64_t id) noexcept { passes_.erase(id); }

bool gate_machine::valid(std::uint64_t id) const noexcept {
  const auto at = passes_.find(id);
  return at != passes_.end() && at->second.valid;
}

bool gate_machine::begin_commit(std::uint64_t id) noexcept {
  const auto at = passes_.find(id);
  if (at == passes_.end() || !at->second.valid) return false;
  ++at->second.commits;
  return true;
}

void gate_machine::end_commit(std::uint64_t id) noexcept {
  if (const auto at = passes_.find(id); at != passes_.end()) --at->second.commits;
}

std::size_t gate_machine::count(sharing how) const noexcept {
  const auto found =
      std::ranges::count_if(passes_, [&](const auto& each) { return each.second.how == how; });
  return static_cast<std::size_t>(found);
}

}  // namespace holdfast::fencing
