#pragma once

#include "core/redlock/first_sights.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <cstddef>
#include <string>

namespace holdfast::io {

/// A user's notes of when lives of nodes were first seen, kept for the user's next process on this
/// boot: else a program that runs for a second could never wait out a node's minute.
///
/// Best effort: a missing, foreign or damaged file is no notes, which only makes a wait longer.
/// Programs that always end before it is over need the notes: what keeps them from being written
/// has to be told.
///
/// Thread safety: none; one owner. Processes may use one file at once: the last writer wins.
class first_sights_file {
 public:
  static constexpr std::size_t notes_max = 256;

  /// The file for the store with this canonical URL; an empty directory: nothing is kept.
  first_sights_file(std::string directory, std::string url);

  /// What earlier processes of this boot have noted.
  core::redlock::first_sights read() const;
  /// Writes the newest notes, unless they are the same as at the last call.
  void keep(const core::redlock::first_sights& notes);
  /// Why the next process will not have the notes, and what to do; empty when it will.
  const std::string& trouble() const noexcept { return trouble_; }

 private:
  result<void> write(const std::string& text) const;

  std::string directory_;
  std::string head_;
  std::string name_;
  std::string written_{};
  std::string trouble_{};
};

}  // namespace holdfast::io
