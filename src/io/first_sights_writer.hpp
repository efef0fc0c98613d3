#pragma once

#include "core/redlock/first_sights.hpp"
#include "io/first_sights_file.hpp"

#include <holdfast/clock.hpp>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
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
class first_sights_writer : public std::enable_shared_from_this<first_sights_writer> {
 public:
  using first_sights = core::redlock::first_sights;
  /// An attempt to keep `asked` has ended, and the file has `there`. On the loop's thread.
  using listener = std::function<void(const first_sights& asked, const first_sights& there)>;
  static constexpr duration again_after = std::chrono::seconds{5};

  /// `read`: what the file has.
  first_sights_writer(first_sights_file file, first_sights read, const std::shared_ptr<loop>& l,
                      listener told);

  /// Writes the notes soon, unless they are those that were asked for last.
  void keep(const first_sights& notes);
  /// Whether notes are to be written, or were and its listener has not returned yet.
  bool is_busy() const;
  /// Why the next process will not have the notes, and what to do; empty when it will, or when
  /// nothing was written yet.
  std::string trouble() const;
  /// Waits until nothing is left to be written, until `limit` at most. Not on a thread of the
  /// library: there it returns at once.
  void wait(duration limit);

 private:
  bool is_to_begin();
  void begin();
  void write();
  void ended(const first_sights& asked, first_sights_file::outcome result);
  void tell(const first_sights& asked, const first_sights& there);
  void try_again();

  const first_sights_file file_;
  const std::weak_ptr<loop> loop_;
  const listener told_;

  mutable std::mutex mutex_;  // Never held while anything is written or called.
  std::condition_variable done_;
  first_sights wanted_;
  bool pending_{};  ///< `wanted_` is not what is being written.
  bool writing_{};
  unsigned untold_{};
  std::string trouble_{};
};

}  // namespace holdfast::io
