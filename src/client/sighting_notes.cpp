#include "client/sighting_notes.hpp"

#include "io/process/per_store.hpp"
#include "io/thread/errand.hpp"
#include "io/thread/mutex.hpp"

#include <utility>

namespace holdfast::client {

/// Those of one store. The errand: to read the file, and to write what it does not have.
class sighting_notes::known final : public io::errand {
 public:
  explicit known(std::optional<io::sighting_file> file) : file_(std::move(file)) {}

  void refresh() {
    if (file_) ask();
  }
  core::sightings recall(const std::vector<core::rival>& whom);
  void keep(const core::sightings& seen);

 private:
  static constexpr auto most = io::sighting_file::sights_max;

  void work() override;
  /// Rarely to `most`, for that sorts them.
  void bound() HOLDFAST_REQUIRES(mutex_) {
    if (kept_.all().size() > 2 * most) kept_.bound(most, clock::now());
  }

  const std::optional<io::sighting_file> file_;
  io::mutex mutex_;  // Never held while the file is used.
  core::sightings kept_ HOLDFAST_GUARDED_BY(mutex_);
  bool unwritten_ HOLDFAST_GUARDED_BY(mutex_){};
};

core::sightings sighting_notes::known::recall(const std::vector<core::rival>& whom) {
  const io::held_mutex hold(mutex_);
  core::sightings found;
  for (const auto& rival : whom) {
    const auto at = kept_.all().find(rival.owner);
    if (at != kept_.all().end() && at->second.at == rival.at) found.recall(at->first, at->second);
  }
  return found;
}

void sighting_notes::known::keep(const core::sightings& seen) {
  {
    const io::held_mutex hold(mutex_);
    bool fresh = false;
    for (const auto& [id, sight] : seen.all()) {
      const auto at = kept_.all().find(id);
      if (at != kept_.all().end() && at->second.at == sight.at) continue;
      kept_.note(id, sight.at, sight.ttl, sight.since);
      fresh = true;
    }
    if (!fresh) return;
    bound();
    unwritten_ = true;
  }
  refresh();
}

void sighting_notes::known::work() {
  bool writes = false;
  core::sightings there;
  {
    const io::held_mutex hold(mutex_);
    writes = std::exchange(unwritten_, false);
    if (writes) there = kept_;
  }
  if (writes) {
    there = file_->merge(there);
  } else {
    for (const auto& [id, sight] : file_->read()) there.recall(id, sight);
  }
  // Another process may have seen some of them earlier than this one.
  const io::held_mutex hold(mutex_);
  kept_.merge(there);
  bound();
}

/// For who opens a store anew. All of a process share the notes on it, so that a disk that hangs
/// has one thread of it, and what it sees is written together.
struct sighting_notes::of_process {
  static std::shared_ptr<known> get(const std::string& store,
                                    std::optional<io::sighting_file> file);
  static io::per_store<std::shared_ptr<known>> stores;
};

constinit io::per_store<std::shared_ptr<sighting_notes::known>> sighting_notes::of_process::stores;

std::shared_ptr<sighting_notes::known> sighting_notes::of_process::get(
    const std::string& store, std::optional<io::sighting_file> file) {
  std::shared_ptr<known> found;
  stores.change(store, [&](std::shared_ptr<known>& kept) {
    if (!kept) kept = std::make_shared<known>(std::move(file));
    found = kept;
  });
  return found;
}

sighting_notes::sighting_notes(std::optional<io::sighting_file> file, std::string store)
    : known_(store.empty() ? std::make_shared<known>(std::move(file))
                           : of_process::get(store, std::move(file))) {
  known_->refresh();
}

sighting_notes::~sighting_notes() { settle(); }

core::sightings sighting_notes::recall(const std::vector<core::rival>& whom) const {
  return known_->recall(whom);
}

void sighting_notes::keep(const core::sightings& seen) { known_->keep(seen); }

void sighting_notes::settle() const { known_->wait(settle_limit); }

}  // namespace holdfast::client
