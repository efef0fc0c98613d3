#pragma once

#include "core/redlock/life_notes.hpp"
#include "io/file/life_notes_file.hpp"
#include "io/thread/condition.hpp"

#include <holdfast/clock.hpp>

#include <functional>
#include <memory>
#include <string>

namespace holdfast::io {

class loop;

/// Keeps a user's notes in their file, on a thread of its own while there is something to write: a
/// disk that hangs may hold up what waits for the notes, and nothing else.
///
/// One attempt is under way at a time, and the next has the newest notes. One that failed is
/// repeated every few seconds.
///
/// Thread safety: every function, from any thread.
class life_notes_writer : public std::enable_shared_from_this<life_notes_writer> {
 public:
  using life_notes = core::redlock::life_notes;
  /// An attempt to keep `asked` has ended, and the file has `there`. On the loop's thread.
  using listener = std::function<void(const life_notes& asked, const life_notes& there)>;
  static constexpr duration again_after = std::chrono::seconds{5};

  /// `read`: what the file has.
  life_notes_writer(life_notes_file file, life_notes read, const std::shared_ptr<loop>& l,
                    listener then);

  /// What this process saw for the same notes, written or not: see seen_lives.
  life_notes seen_before() const;
  /// Writes the notes soon, unless they are those that were asked for last.
  void keep(const life_notes& notes);
  /// Whether notes are to be written, or were and its listener has not returned yet.
  bool is_busy() const;
  /// Why the next process will not have the notes, and what to do; empty when it will, or when
  /// nothing was written yet.
  std::string trouble() const;
  /// Waits until nothing is left to be written, until `limit` at most. Not on a thread of the
  /// library: there it returns at once.
  void wait(duration limit);

 private:
  /// False: the thread that writes will see that there is more.
  bool is_to_begin() HOLDFAST_REQUIRES(mutex_);
  /// A thread for as long as there is something to write.
  void begin();
  /// On that thread.
  void write();
  /// On that thread: has the loop tell it.
  void ended(const life_notes& asked, life_notes_file::outcome result) HOLDFAST_EXCLUDES(mutex_);
  /// On the loop. Only afterwards it counts as told.
  void tell(const life_notes& asked, const life_notes& there) HOLDFAST_EXCLUDES(mutex_);
  /// After a pause, on the loop.
  void try_again();

  const life_notes_file file_;
  const std::weak_ptr<loop> loop_;
  const listener then_;

  mutable mutex mutex_;  // Never held while anything is written or called.
  condition done_;
  life_notes wanted_ HOLDFAST_GUARDED_BY(mutex_);
  bool pending_ HOLDFAST_GUARDED_BY(mutex_){};  ///< `wanted_` is not what is being written.
  bool writing_ HOLDFAST_GUARDED_BY(mutex_){};
  unsigned untold_ HOLDFAST_GUARDED_BY(mutex_){};
  std::string trouble_ HOLDFAST_GUARDED_BY(mutex_){};
};

}  // namespace holdfast::io
