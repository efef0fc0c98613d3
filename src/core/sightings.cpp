#include "core/sightings.hpp"

#include "core/assert.hpp"
#include "core/rules.hpp"

#include <algorithm>
#include <functional>

namespace holdfast::core {

namespace {

constexpr duration note_age_max = std::chrono::hours{24};

time_point due_at(const sightings::sight& s) noexcept {
  return s.since + (active.wait_full_ttl ? takeover_after(s.ttl) : s.ttl / 2);
}

}  // namespace

void sightings::note(const session_id& id, const version& at, duration ttl, time_point now) {
  const auto there = seen_.find(id);
  // A version that is seen again keeps its first sight: that is what the wait counts from.
  if (there == seen_.end() || there->second.at != at) put(id, {at, ttl, now});
}

void sightings::recall(const session_id& id, const sight& s) {
  if (!seen_.contains(id)) put(id, s);
}

void sightings::merge(const sightings& other) {
  for (const auto& [id, theirs] : other.seen_) {
    const auto there = seen_.find(id);
    if (there != seen_.end()) {
      const auto& ours = there->second;
      // Of one version the earlier sight counts, for it was silent since then; of two the later,
      // for it is the newer one.
      const bool is_better =
          ours.at == theirs.at ? theirs.since < ours.since : theirs.since > ours.since;
      if (!is_better) continue;
    }
    put(id, theirs);
  }
}

void sightings::put(const session_id& id, const sight& s) {
  forget(id);
  seen_.emplace(id, s);
  queue_.emplace(due_at(s), id);
  HOLDFAST_ASSERT(queue_.size() == seen_.size());
}

void sightings::forget(const session_id& id) {
  const auto there = seen_.find(id);
  if (there == seen_.end()) return;
  queue_.erase({due_at(there->second), id});
  seen_.erase(there);
  // Else it stays due for ever, and due() finds nothing noted of it.
  HOLDFAST_ASSERT(queue_.size() == seen_.size());
}

void sightings::keep_only(const std::vector<session_id>& keep) {
  std::vector<session_id> kept = keep;
  std::sort(kept.begin(), kept.end());
  const auto falls = [&](const session_id& id) {
    return !std::binary_search(kept.begin(), kept.end(), id);
  };
  std::erase_if(seen_, [&](const auto& seen) { return falls(seen.first); });
  std::erase_if(queue_, [&](const auto& due) { return falls(due.second); });
  HOLDFAST_ASSERT(queue_.size() == seen_.size());
}

void sightings::bound(std::size_t most, time_point now) {
  std::vector<std::pair<time_point, session_id>> newest;
  for (const auto& [id, s] : seen_) {
    if (s.since + takeover_after(s.ttl) >= now - note_age_max) newest.emplace_back(s.since, id);
  }
  std::sort(newest.begin(), newest.end(), std::greater<>());
  if (newest.size() > most) newest.resize(most);
  std::vector<session_id> keep;
  for (const auto& [since, id] : newest) keep.push_back(id);
  keep_only(keep);
}

std::vector<sightings::due_session> sightings::due(time_point now) const {
  std::vector<due_session> sessions;
  for (const auto& [when, id] : queue_) {
    if (now < when) break;
    sessions.push_back({id, seen_.at(id).at});
  }
  return sessions;
}

std::optional<time_point> sightings::next_due() const {
  if (queue_.empty()) return std::nullopt;
  return queue_.begin()->first;
}

}  // namespace holdfast::core
