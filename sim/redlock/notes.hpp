#pragma once

#include "core/redlock/first_sights.hpp"
#include "sim/schedule.hpp"

#include <cstdint>
#include <memory>

namespace holdfast::sim::redlock {

class client;

/// What the processes of one user on one host have noted, as io::first_sights_file keeps it.
struct notes_file {
  using first_sights = core::redlock::first_sights;
  enum class disk : std::uint8_t { works, full, read_only };

  /// Notes are there whole or not at all, and merged under a lock.
  first_sights keep(const first_sights& notes, disk is, time_point now);

  first_sights there{};
  moment hangs_until{};
};

/// Keeps one process's notes as io::first_sights_writer does on its thread: late, one attempt at a
/// time, of what came meanwhile only the newest.
class note_writer {
 public:
  using first_sights = core::redlock::first_sights;

  /// What the file has now is known to the process.
  note_writer(client& of, notes_file& file);

  void keep(const first_sights& notes);

 private:
  void begin();
  void reach_disk(const std::shared_ptr<const first_sights>& asked);

  client& of_;
  notes_file& file_;
  first_sights wanted_;
  bool pending_{};
  bool writing_{};
  moment told_{};  ///< Of one attempt after the other.
};

}  // namespace holdfast::sim::redlock
