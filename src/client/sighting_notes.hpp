#pragma once

#include "core/engine.hpp"
#include "core/sightings.hpp"
#include "io/file/sighting_file.hpp"

#include <holdfast/clock.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::client {

/// What tries and waits have seen of a store's sessions: kept between those of this process, also
/// where the store is opened again, and for stores that outlive it in a file for this user's next
/// process. Without it a try that runs from cron, or a wait that is shorter than the ttl, could
/// never take over a holder that hangs.
///
/// Any disk may hang, and heartbeats go out on the threads that keep and recall notes. So these are
/// in memory at once, and the file is read and written on a thread of its own; who has a thread of
/// the program waits for that with settle().
///
/// Where there is no file they are bounded too: twice as many as a file has, at most.
///
/// Thread safety: every function, from any thread.
class sighting_notes {
 public:
  /// Many times what the file and its `.lock` take where the disk does not hang.
  static constexpr duration settle_limit = std::chrono::milliseconds{500};

  /// `store`: which one it is for this process; empty when nothing of it is kept for those that
  /// open it later. The file is read soon.
  explicit sighting_notes(std::optional<io::sighting_file> file, std::string store = {});
  sighting_notes(const sighting_notes&) = delete;
  sighting_notes& operator=(const sighting_notes&) = delete;
  /// Settles.
  ~sighting_notes();

  /// The notes about `whom` that still apply: same session, same version.
  core::sightings recall(const std::vector<core::rival>& whom) const;

  /// Adds what was seen; the file is written, soon, only when there is something new in it.
  void keep(const core::sightings& seen);

  /// Waits until the file has been read, and has what was kept; for `settle_limit` at most, and
  /// for none that has hung for so long already. On a thread of the library it returns at once.
  void settle() const;

 private:
  class known;
  struct of_process;

  const std::shared_ptr<known> known_;
};

}  // namespace holdfast::client
