#pragma once

#include "core/redlock/life_notes.hpp"
#include "sim/schedule.hpp"

#include <cstdint>
#include <memory>

namespace holdfast::sim::redlock {

class client;

/// What the processes of one user on one host have noted, as io::life_notes_file keeps it.
struct notes_file {
  using life_notes = core::redlock::life_notes;
  enum class disk : std::uint8_t { works, full, read_only };

  /// Notes are there whole or not at all, and merged under a lock.
  life_notes keep(const life_notes& notes, disk is, time_point now);

  life_notes there{};
  moment hangs_until{};
};

/// Keeps one process's notes as io::life_notes_writer does on its thread: late, one attempt at a
/// time, of what came meanwhile only the newest.
class note_writer {
 public:
  using life_notes = core::redlock::life_notes;

  /// What the file has now is known to the process.
  note_writer(client& of, notes_file& file);

  void keep(const life_notes& notes);

 private:
  void begin();
  void reach_disk(const std::shared_ptr<const life_notes>& asked);

  client& of_;
  notes_file& file_;
  life_notes wanted_;
  bool pending_{};
  bool writing_{};
  moment answered_{};  ///< Of one attempt after the other.
};

}  // namespace holdfast::sim::redlock
