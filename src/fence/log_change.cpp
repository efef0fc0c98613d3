#include "fence/log_names.hpp"
#include "fence/log_owner.hpp"
#include "io/file/files.hpp"

#include <algorithm>
#include <utility>

/// What makes a new inline version: a new segment, a seal, a discard, a merge. Each runs alone
/// between appends. Files go only behind the version that does without them, and a version only
/// behind the files that it names.

namespace holdfast::fencing {

/// Makes `next` the newest version. A writer that is still the newest cannot lose the link: whoever
/// else links has raised the epoch before. A failure that does not stop the writer has changed
/// nothing.
result<void> log_owner::publish(log_inline next) {
  next.version = version_.version + 1;
  next.owner = mine_;
  bool may_show{};
  const auto linked = log_.publish(next, {mine_, next_ordinal_}, may_show);
  if (!linked && !may_show) return linked.error();
  if (!linked) {
    // It may be linked and not be on the disk, or not be linked.
    stop(error(errc::unavailable, "this writer stopped: " + linked.error().message() +
                                      "; open the log anew, with the same token"));
    return linked.error();
  }
  if (!*linked || log_.epoch() != mine_) {
    stop(replaced(log_, mine_));
    return *stopped_;
  }
  version_ = std::move(next);
  log_.drop_before(version_);
  return {};
}

/// A full disk must not keep a change from being made that frees space: what was reserved for
/// records is given back for it.
result<void> log_owner::publish_in_need(log_inline next) {
  const auto done = publish(next);
  if (done || stopped_) return done;
  give_back();
  return publish(std::move(next));
}

void log_owner::give_back() {
  (void)segment_.file->truncate(at_.bytes);
  reserved_ = at_.bytes;
}

/// Fixes the length of the own segment in `next`; its records are on the disk then.
result<void> log_owner::close_segment(log_inline& next) {
  if (auto synced = sync_file(); !synced) return synced;
  next.open.reset();
  if (at_.records == 0) return {};
  next.sealed.push_back({segment_.id, next.next, at_.records, at_.bytes});
  next.next = next.sealed.back().end();
  return {};
}

result<void> log_owner::begin_segment() {
  clean();
  log_inline next = version_;
  if (auto closed = close_segment(next); !closed) return closed;
  auto fresh = create_segment(log_, {mine_, next_ordinal_});
  if (!fresh) return fresh.error();
  next.open = next_ordinal_;
  auto done = reserve_spare(*fresh, 0, next);
  if (done) done = publish(std::move(next));
  if (!done) {
    if (!stopped_) remove_segment(log_, fresh->id);
    return done;
  }
  ++next_ordinal_;
  (void)segment_.file->truncate(at_.bytes);
  (void)log_.files().unlink(mark_name(segment_.id));
  segment_ = std::move(*fresh);
  at_ = synced_ = {};
  reserved_ = 0;
  return {};
}

result<record_number> log_owner::seal_now() {
  log_inline next = version_;
  if (auto closed = close_segment(next); !closed) return closed.error();
  if (auto done = publish_in_need(std::move(next)); !done) return done.error();
  (void)segment_.file->truncate(at_.bytes);
  (void)log_.files().unlink(mark_name(segment_.id));
  stop(error(errc::invalid_argument,
             "this writer has sealed " + log_.files().path() + "; open it anew to write"));
  return record_number{version_.next};
}

result<record_number> log_owner::discard_now(record_number first) {
  log_inline next = version_;
  const auto kept = std::find_if(next.sealed.begin(), next.sealed.end(),
                                 [&](const auto& s) { return s.end() > first.value; });
  const std::vector<sealed_segment> gone(next.sealed.begin(), kept);
  if (gone.empty()) return record_number{version_.first()};
  next.sealed.erase(next.sealed.begin(), kept);
  if (auto done = publish_in_need(std::move(next)); !done) return done.error();
  for (const auto& one : gone) (void)log_.files().unlink(segment_name(one.id));
  clean();
  // The next one may need it again before there is a record. Others may be faster, and then it
  // comes with the next record.
  if (reserved_ == at_.bytes) (void)reserve_spare(segment_, at_.bytes, version_);
  return record_number{version_.first()};
}

result<std::size_t> log_owner::compact_now() {
  log_inline next = version_;
  next.sealed.clear();
  std::vector<sealed_segment> gone;
  std::vector<segment_id> copies;
  const auto give_up = [&](const error& why) {
    for (const auto& one : copies) remove_segment(log_, one);
    // Then it may have failed because the newer writer has removed what was to be merged.
    if (log_.epoch() != mine_) stop(replaced(log_, mine_));
    return stopped_ ? *stopped_ : why;
  };
  for (auto at = version_.sealed.begin(); at != version_.sealed.end();) {
    auto end = at;
    std::uint64_t bytes = 0;
    while (end != version_.sealed.end() && bytes + end->bytes <= options_.segment_bytes) {
      bytes += (end++)->bytes;
    }
    // One alone is as good as its copy.
    if (end - at < 2) {
      next.sealed.push_back(*at++);
      continue;
    }
    const std::vector<sealed_segment> run(at, end);
    const auto merged = copy_segments(log_, run, {mine_, next_copy_++});
    if (!merged) return give_up(merged.error());
    copies.push_back(merged->id);
    next.sealed.push_back(*merged);
    gone.insert(gone.end(), run.begin(), run.end());
    at = end;
  }
  if (gone.empty()) return std::size_t{0};
  const std::size_t saved = version_.sealed.size() - next.sealed.size();
  if (auto done = publish(std::move(next)); !done) {
    return stopped_ ? done.error() : give_up(done.error());
  }
  for (const auto& one : gone) (void)log_.files().unlink(segment_name(one.id));
  clean();
  return saved;
}

}  // namespace holdfast::fencing
