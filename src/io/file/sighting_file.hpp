#pragma once

#include "core/sightings.hpp"
#include "io/file/writers_turn.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/session_id.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

namespace holdfast::io {

/// A user's notes about one store's sessions: which version was first seen when, on this boot's
/// CLOCK_BOOTTIME. The one place where a time point leaves a process: it goes to the same user's
/// next process on the same boot and in the same time namespace, and is ignored anywhere else.
///
/// The file is private (0600 in a 0700 directory), replaced as a whole, bounded, and best effort: a
/// missing, foreign or damaged one is no notes, which only makes a takeover later. Each time
/// namespace has its own; those of earlier boots are removed when one is made.
///
/// Any disk may hang, and the lock of another process lasts: read() and merge() are for a thread
/// that nobody waits for without a limit.
///
/// Thread safety: none; one owner. Processes may use one file at once: each adds to what the others
/// wrote, unless one of them is stopped amid its turn.
class sighting_file {
 public:
  using sights = std::map<session_id, core::sightings::sight>;
  static constexpr std::size_t sights_max = 1024;
  /// Many times what one who writes needs.
  static constexpr duration turn_limit_default = std::chrono::milliseconds{50};

  /// The file for the store with this canonical URL, in `directory`. Who has waited `turn_limit`
  /// for others that write it writes it all the same.
  sighting_file(const std::string& directory, std::string url,
                duration turn_limit = turn_limit_default);

  sights read() const;
  /// Writes the newest `sights_max` of `notes`, each with the earlier of the two times when the
  /// file knows the same version, and answers what it wrote. Notes that are over a day older than
  /// their takeover are dropped.
  core::sightings merge(const core::sightings& notes) const;

  const std::string& path() const noexcept { return path_; }

 private:
  /// Failure: another writer hangs, or there is no directory. Then it is written without a turn.
  result<writers_turn> turn() const;
  /// `draft`: the name that the file has until it is whole.
  bool write(const core::sightings& notes, const std::string& draft) const;

  std::string directory_;
  std::string url_;
  std::string path_;
  duration turn_limit_;
};

}  // namespace holdfast::io
