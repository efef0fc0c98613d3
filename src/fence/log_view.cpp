#include "fence/log_view.hpp"

#include "fence/log_names.hpp"
#include "io/file/files.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

/// Where a look finds that the log has changed under it, the answer is nothing: next() looks again
/// with the newer version. A record is returned only if no cut and, where that was asked for, no
/// power loss can take it back.

namespace holdfast::fencing {

using step = record_cursor::step;

result<std::unique_ptr<log_view>> log_view::open(log_ground on, const reader_options& options) {
  auto log = log_directory::open(std::move(on), nullptr, io::opening::read);
  if (!log) return log.error();
  std::unique_ptr<log_view> view(new log_view(std::move(*log), options));
  if (auto loaded = view->reload(); !loaded) return loaded.error();
  if (view->number_ == 0) view->number_ = view->version_.first();
  return view;
}

/// True when there is another version than before.
result<bool> log_view::reload() {
  auto newest = log_.newest_readable();
  if (!newest) return newest.error();
  const bool changed = newest->version.version != version_.version;
  version_ = std::move(newest->version);
  fault_ = std::move(newest->fault);
  return changed;
}

result<std::optional<log_record>> log_view::next() {
  if (returned_) {
    if (cursor_) cursor_->pass();
    ++number_;
    returned_ = false;
  }
  skippable_ = false;
  stuck_.reset();
  // Each further look follows a newer version.
  for (int attempt = 0; attempt < 1000; ++attempt) {
    // Before the look at the end: what was acknowledged in a newer segment was so after the hint.
    if (fault_ || log_.version_hint() > version_.version) {
      if (auto loaded = reload(); !loaded) return loaded.error();
    }
    if (number_ < version_.first()) {
      skippable_ = true;
      return error(errc::unavailable, log_.files().path() + ": records up to " +
                                          std::to_string(version_.first() - 1) +
                                          " were discarded; skip them to go on");
    }
    const auto at = std::partition_point(version_.sealed.begin(), version_.sealed.end(),
                                         [this](const auto& s) { return s.end() <= number_; });
    auto seen = at == version_.sealed.end() ? look_at_end() : look_at_sealed(*at);
    if (!seen) continue;
    if (!*seen && seen->error() == errc::damaged && !skippable_) stuck_ = seen->error();
    return std::move(*seen);
  }
  return error(errc::unavailable, log_.files().path() + " changes all the time; try again");
}

/// Puts the cursor before the wanted record. False: the segment has fewer whole records.
result<bool> log_view::stand_at(const segment_id& id, std::uint64_t first, std::uint64_t limit) {
  if (!cursor_ || cursor_->id() != id || cursor_->number() > number_) {
    cursor_.reset();
    int code = 0;
    const std::string name = segment_name(id);
    std::shared_ptr<io::folder_file> file = log_.files().open(name, io::opening::read, code);
    if (!file && code == ENOENT) {
      return error(errc::damaged, log_.files().at(name) + " is missing; restore it from a copy");
    }
    if (!file) return io::file_failure("open", log_.files().at(name), code);
    cursor_.emplace(std::move(file), log_.files().at(name), id, first);
    mark_ = {};
  }
  while (cursor_->number() < number_) {
    const auto seen = cursor_->look(limit);
    if (!seen) return seen.error();
    if (*seen != step::record) return false;
    cursor_->pass();
  }
  return true;
}

log_view::outcome log_view::look_at_sealed(const sealed_segment& s) {
  const sealed_segment here = s;
  const auto stands = stand_at(here.id, here.first, here.bytes);
  if (!stands) {
    if (stands.error() != errc::damaged) return stands.error();
    // Compaction may have removed the file since the version was read.
    const auto changed = reload();
    if (!changed) return changed.error();
    if (*changed) return std::nullopt;
    skippable_ = true;
    return stands.error();
  }
  auto seen = *stands ? cursor_->look(here.bytes) : result<step>(step::torn);
  if (!seen) return seen.error();
  if (*seen == step::record) return found();
  skippable_ = true;
  return broken_here();
}

log_view::outcome log_view::look_at_end() {
  // What a version that cannot be read has sealed is not known: it all ends here.
  if (fault_) return *fault_;
  const auto open = version_.open_segment();
  if (open) return look_at_open(*open);
  return std::optional<log_record>{};
}

log_view::outcome log_view::look_at_open(const segment_id& id) {
  const auto stands = stand_at(id, version_.next, UINT64_MAX);
  if (!stands && stands.error() != errc::damaged) return stands.error();
  if (stands && mark_.how_old() == log_mark::age::none) {
    mark_ = log_mark::find(log_.files(), id, log_.boot(), io::opening::read);
  }
  // log_directory::check_segments() tells why a new one may be missing.
  const bool never_was = !stands && log_.version_hint() < version_.version;
  const std::uint64_t acknowledged = stands ? mark_.acknowledged().bytes : 0;
  auto seen = stands && *stands ? cursor_->look(UINT64_MAX) : result<step>(step::end);
  if (!seen) return seen.error();

  if (log_.epoch() > version_.owner) {
    const auto changed = reload();
    if (!changed) return changed.error();
    if (*changed) return std::nullopt;
    if (never_was) return std::optional<log_record>{};
    if (!stands) return stands.error();
    // Somebody raised the epoch and has not fixed the length yet, or never will.
    const error under_way(errc::unavailable,
                          log_.files().path() + " is being taken over; try again");
    if (mark_.how_old() == log_mark::age::none) return under_way;
    if (*seen == step::record) {
      if (cursor_->behind().bytes <= certain_bytes()) return found();
      // Before the raise another reader may have returned it, and then the cut is behind it.
      if (durability_ == survives::kill) return under_way;
    }
    return nothing_yet(acknowledged);
  }
  if (never_was) return std::optional<log_record>{};
  if (!stands) return look_again_or(stands.error());
  if (*seen == step::record) {
    if (cursor_->behind().bytes <= durable_bytes()) return found();
    if (mark_.how_old() == log_mark::age::none) return look_without_mark();
    return std::optional<log_record>{};
  }
  return nothing_yet(acknowledged);
}

/// A mark goes when its segment is sealed, and a newer version tells how much is on the disk. If
/// there is none it is not known, and to say that there is nothing would be wrong.
log_view::outcome log_view::look_without_mark() {
  return look_again_or(error(errc::unavailable,
                             log_.files().at(mark_name(cursor_->id())) +
                                 " is missing or cannot be read, or this machine's boot id cannot "
                                 "(/proc), so what a power loss can take back is not known until a "
                                 "writer opens the log"));
}

/// A file that is missing may have been removed since the version was read.
log_view::outcome log_view::look_again_or(const error& missing) {
  const auto changed = reload();
  if (!changed) return changed.error();
  if (*changed) return std::nullopt;
  return missing;
}

/// Nothing, unless there was something before the look: then it is damaged.
result<std::optional<log_record>> log_view::nothing_yet(std::uint64_t acknowledged) {
  if (acknowledged > cursor_->at().bytes && cursor_->number() <= number_) {
    const auto torn = cursor_->look(acknowledged);
    if (torn && *torn != step::record) return broken_here();
  }
  return std::optional<log_record>{};
}

/// How far records of the open segment cannot be cut off any more. After another boot no writer of
/// the segment is left that could still add to it.
std::uint64_t log_view::certain_bytes() const noexcept {
  const std::uint64_t certain =
      mark_.how_old() == log_mark::age::earlier_boot ? UINT64_MAX : mark_.acknowledged().bytes;
  return std::min(certain, durable_bytes());
}

/// How far they may be returned to this reader. What was read after another boot was read from the
/// disk.
std::uint64_t log_view::durable_bytes() const noexcept {
  if (durability_ == survives::kill || mark_.how_old() == log_mark::age::earlier_boot)
    return UINT64_MAX;
  return mark_.synced().bytes;
}

result<std::optional<log_record>> log_view::found() {
  returned_ = true;
  return std::optional<log_record>(
      log_record{{number_}, cursor_->id().of.token(), cursor_->payload()});
}

error log_view::broken_here() const {
  return {errc::damaged, cursor_->path() + " is damaged at byte " +
                             std::to_string(cursor_->at().bytes) + ", record " +
                             std::to_string(cursor_->number()) + "; restore it from a copy" +
                             (skippable_ ? ", or skip the rest of it" : "")};
}

result<std::uint64_t> log_view::skip() {
  if (!skippable_) {
    if (fault_ && number_ >= version_.next) return *fault_;
    if (stuck_) return *stuck_;
    return std::uint64_t{0};
  }
  skippable_ = false;
  const std::uint64_t from = number_;
  if (number_ < version_.first()) {
    number_ = version_.first();
    return number_ - from;
  }
  for (const auto& s : version_.sealed) {
    if (number_ < s.end()) {
      number_ = s.end();
      break;
    }
  }
  return number_ - from;
}

}  // namespace holdfast::fencing
