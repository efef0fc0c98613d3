#include "io/file/life_notes_file.hpp"

#include "core/cut.hpp"
#include "core/fnv1a.hpp"
#include "core/hexadecimal.hpp"
#include "core/whole_number.hpp"
#include "io/file/files.hpp"
#include "io/file/own_notes.hpp"
#include "io/file/writers_turn.hpp"
#include "io/process/process_identity.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

namespace holdfast::io {

namespace {

using core::redlock::life_notes;

constexpr std::size_t bytes_max = 64 * 1024;

/// Somebody else's disk may hang as well.
constexpr duration turn_limit = std::chrono::seconds{10};

std::string name_of(const std::string& url) {
  return "life-notes-" + core::hexadecimal(core::fnv1a(url));
}

/// Else a few would fill the file.
constexpr std::size_t word_max = 512;

// Servers choose it: with a space in it, one could write the note of another.
bool is_one_word(std::string_view life) {
  return !life.empty() && life.size() <= word_max &&
         std::ranges::all_of(life, [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

life_notes_file::life_notes_file(std::string directory, std::string url)
    : directory_(std::move(directory)), name_(name_of(url)) {
  const std::string boot = boot_clock();
  if (boot.empty()) return;  // Whose clock the times are of cannot be told.
  head_ = "holdfast-life-notes 1\n" + url + '\n' + boot + '\n';
}

/// What cannot be read or trusted is left out: without a note somebody waits for longer, and with a
/// wrong one perhaps not long enough.
life_notes life_notes_file::read() const {
  life_notes notes;
  if (!has_place()) return notes;
  const auto directory = open_directory(directory_);
  if (!directory) return notes;
  const auto text = own_text(directory->get(), name_, bytes_max);
  std::string_view lines = lines_below(head_, text);
  const time_point now = clock::now();
  for (std::size_t n = 0; n < life_notes::notes_max && !lines.empty(); ++n) {
    std::string_view since = core::cut(lines, '\n');
    const std::string life(core::cut(since, ' '));
    const auto at = core::whole_number<std::int64_t>(since);
    if (!at || *at <= 0 || time_point{duration{*at}} > now || !is_one_word(life)) continue;
    notes.recall(life, time_point{duration{*at}});
  }
  return notes;
}

life_notes_file::outcome life_notes_file::keep(const life_notes& notes) const {
  if (head_.empty()) {
    remove();  // What others of this boot have written there is all that they would know.
    return {{},
            "this user's next process will begin to wait anew, for the kernel's boot id or this "
            "process's time namespace cannot be read; mount /proc"};
  }
  auto kept = add(notes);
  if (kept) return {std::move(*kept), {}};
  return {without_overstatement(notes),
          "this user's next process will begin to wait anew, for the first sight cannot be kept: " +
              kept.error().message() + "; set XDG_STATE_HOME to a directory of this user"};
}

result<life_notes> life_notes_file::add(const life_notes& notes) const {
  if (directory_.empty()) return error(errc::unavailable, "there is no home directory");
  if (auto made = make_directories(directory_, 0700); !made) return made.error();
  const auto directory = open_directory(directory_);
  if (!directory) return directory.error();
  const place where{directory->get(), directory_};
  const auto ours = writers_turn::take(where, name_, turn_limit);
  if (!ours) return ours.error();
  const life_notes there = read();
  life_notes all = there;
  all.add(notes, clock::now());
  const life_notes kept = that_fits(all);
  if (kept == there) return kept;
  if (auto done = replace_text(where, name_.c_str(), text_of(kept), 0600); !done) {
    return done.error();
  }
  return kept;
}

life_notes life_notes_file::that_fits(const life_notes& notes) {
  life_notes kept;
  for (const auto& [life, since] : notes.all()) {
    if (is_one_word(life)) kept.recall(life, since);
  }
  kept.keep_newest(life_notes::notes_max);
  return kept;
}

std::string life_notes_file::text_of(const life_notes& notes) const {
  std::string text = head_;
  for (const auto& [life, since] : notes.all()) {
    text += life + ' ' + std::to_string(since.time_since_epoch().count()) + '\n';
  }
  return text;
}

/// No notes only make a wait longer.
life_notes life_notes_file::without_overstatement(const life_notes& truth) const {
  life_notes there = read();
  if (!there.overstate(truth)) return there;
  remove();
  return read();
}

void life_notes_file::remove() const {
  const auto directory = open_directory(directory_);
  if (directory) (void)::unlinkat(directory->get(), name_.c_str(), 0);
}

}  // namespace holdfast::io
