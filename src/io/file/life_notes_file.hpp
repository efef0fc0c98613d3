#pragma once

#include "core/redlock/life_notes.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <string>

namespace holdfast::io {

/// A user's notes of when lives of nodes were first seen, kept for the user's next process on this
/// boot: else a program that runs for a second could never wait out a node's minute.
///
/// Best effort: a missing, foreign or damaged file is no notes, which only makes a wait longer.
/// Programs that always end before it is over need the notes: what keeps them from being written
/// has to be told.
///
/// Any disk may hang: keep() is for a thread that nobody waits for; see life_notes_writer.
///
/// Thread safety: every function, from any thread. Processes may use one file at once: each adds to
/// what the others wrote.
class life_notes_file {
 public:
  using life_notes = core::redlock::life_notes;

  /// The file for the store with this canonical URL; an empty directory: nothing is kept.
  life_notes_file(std::string directory, std::string url);

  /// False: there is no home directory, or no boot id can be read, and there will be none.
  bool has_place() const noexcept { return !directory_.empty() && !head_.empty(); }
  /// Which file it is, for this process.
  std::string path() const { return directory_ + '/' + name_; }
  /// What processes of this boot have noted.
  life_notes read() const;

  struct outcome {
    life_notes there{};     ///< What the file has now.
    std::string trouble{};  ///< Why the next process will not have the notes, and what to do.
  };
  /// Merges the notes into the file, which keeps the newest. Where that fails, notes that would
  /// tell the next process of durable nodes what these do not are removed.
  outcome keep(const life_notes& notes) const;

 private:
  /// What is there and these, as it is there afterwards. In the turn of one writer.
  result<life_notes> add(const life_notes& notes) const;
  /// The newest, and of servers whose names can be in the file.
  static life_notes that_fits(const life_notes& notes);
  std::string text_of(const life_notes& notes) const;
  /// What is there by now; it was removed if it says of a node more than `truth` does.
  life_notes without_overstatement(const life_notes& truth) const;
  /// Failures are nothing: whoever reads judges what is there.
  void remove() const;

  std::string directory_;
  std::string head_;  ///< Empty: there is no boot id.
  std::string name_;
};

}  // namespace holdfast::io
