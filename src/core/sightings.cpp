#include "core/sightings.hpp"

#include "core/rules.hpp"

#include <algorithm>

namespace holdfast::core {

namespace {

time_point due_at(const sightings::sight& s) noexcept {
  return s.since + (active.wait_full_ttl ? takeover_after(s.ttl) : s.ttl / 2);
}

}  // namespace

void sightings::note(const session_id& id, const version& at, duration ttl, time_point now) {
  const auto [there, fresh] = seen_.try_emplace(id, sight{at, ttl, now});
  if (!fresh && there->second.at != at) there->second = {at, ttl, now};
}

void sightings::recall(const session_id& id, const sight& s) { seen_.try_emplace(id, s); }

void sightings::forget(const session_id& id) { seen_.erase(id); }

void sightings::keep_only(const std::vector<session_id>& keep) {
  std::erase_if(seen_, [&](const auto& seen) {
    return std::find(keep.begin(), keep.end(), seen.first) == keep.end();
  });
}

std::vector<sightings::due_session> sightings::due(time_point now) const {
  std::vector<due_session> sessions;
  for (const auto& [id, s] : seen_) {
    if (now >= due_at(s)) sessions.push_back({id, s.at});
  }
  return sessions;
}

std::optional<time_point> sightings::next_due() const {
  std::optional<time_point> next;
  for (const auto& [id, s] : seen_) next = std::min(next.value_or(due_at(s)), due_at(s));
  return next;
}

}  // namespace holdfast::core
