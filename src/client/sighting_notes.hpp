#pragma once

#include "core/engine.hpp"
#include "core/sightings.hpp"
#include "io/file/sighting_file.hpp"
#include "io/thread/mutex.hpp"

#include <optional>
#include <string>
#include <vector>

namespace holdfast::client {

/// What tries and waits have seen of a store's sessions: kept between those of this process, also
/// where the store is opened again, and for stores that outlive it in a file for this user's next
/// process. Without it a try that runs from cron, or a wait that is shorter than the ttl, could
/// never take over a holder that hangs.
///
/// Where there is no file they are bounded too: twice as many as a file has, at most.
///
/// Thread safety: every function, from any thread.
class sighting_notes {
 public:
  /// `store`: which one it is for this process; empty when nothing of it is kept for those that
  /// open it later.
  explicit sighting_notes(std::optional<io::sighting_file> file, std::string store = {});

  /// The notes about `whom` that still apply: same session, same version.
  core::sightings recall(const std::vector<core::rival>& whom);

  /// Adds what was seen; the file is written only when there is something new in it.
  void keep(const core::sightings& seen);

 private:
  void load() HOLDFAST_REQUIRES(mutex_);

  io::mutex mutex_;
  std::optional<io::sighting_file> file_ HOLDFAST_GUARDED_BY(mutex_);
  const std::string store_;
  bool loaded_ HOLDFAST_GUARDED_BY(mutex_){};
  core::sightings kept_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::client
