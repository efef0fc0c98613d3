#include "client/sighting_notes.hpp"

#include "io/process/per_store.hpp"

#include <utility>

namespace holdfast::client {

namespace {

constexpr auto most = io::sighting_file::sights_max;

constinit io::per_store<core::sightings> seen_of_stores;

/// Rarely to `most`, for that sorts them.
void bound(core::sightings& notes) {
  if (notes.all().size() > 2 * most) notes.bound(most, clock::now());
}

void remember(const std::string& store, const core::sightings& seen) {
  seen_of_stores.change(store, [&seen](core::sightings& all) {
    all.merge(seen);
    bound(all);
  });
}

}  // namespace

sighting_notes::sighting_notes(std::optional<io::sighting_file> file, std::string store)
    : file_(std::move(file)), store_(std::move(store)) {}

void sighting_notes::load() {
  if (std::exchange(loaded_, true)) return;
  if (file_) {
    for (const auto& [id, sight] : file_->read()) kept_.recall(id, sight);
  }
  // Also what this process saw of the store before it was opened anew.
  if (!store_.empty()) kept_.merge(seen_of_stores.get(store_));
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
  // Another process may have seen some of them earlier than this one.
  if (file_) kept_ = file_->merge(kept_);
  bound(kept_);
  if (!store_.empty()) remember(store_, kept_);
}

}  // namespace holdfast::client
