#include "client/sighting_notes.hpp"

#include <utility>

namespace holdfast::client {

sighting_notes::sighting_notes(std::optional<io::sighting_file> file) : file_(std::move(file)) {}

void sighting_notes::load() {
  if (std::exchange(loaded_, true) || !file_) return;
  for (const auto& [id, sight] : file_->read()) kept_.recall(id, sight);
}

core::sightings sighting_notes::recall(const std::vector<core::rival>& whom) {
  const io::held_mutex hold(mutex_);
  load();
  core::sightings found;
  for (const auto& rival : whom) {
    const auto at = kept_.all().find(rival.owner);
    if (at != kept_.all().end() && at->second.at == rival.at) found.recall(at->first, at->second);
  }
  return found;
}

void sighting_notes::keep(const core::sightings& seen) {
  const io::held_mutex hold(mutex_);
  load();
  bool fresh = false;
  for (const auto& [id, sight] : seen.all()) {
    const auto at = kept_.all().find(id);
    if (at != kept_.all().end() && at->second.at == sight.at) continue;
    kept_.note(id, sight.at, sight.ttl, sight.since);
    fresh = true;
  }
  if (!fresh) return;
  constexpr auto most = io::sighting_file::sights_max;
  if (file_) {
    // Another process may have seen some of them earlier than this one.
    kept_ = file_->merge(kept_);
  } else if (kept_.all().size() > 2 * most) {  // Rarely, for it sorts them.
    kept_.bound(most, clock::now());
  }
}

}  // namespace holdfast::client
