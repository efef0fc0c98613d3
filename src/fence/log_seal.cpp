#include "fence/log_seal.hpp"

#include "fence/log_names.hpp"
#include "fence/record_cursor.hpp"
#include "io/file/files.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace holdfast::fencing {
namespace {

/// Of a file system, the largest that is usual.
constexpr std::uint64_t disk_block = 4096;

/// What a sealer found of the segment that grew.
struct measured {
  sealed_segment whole;
  std::uint64_t size{};  ///< Of the file.
};

/// Raises the epoch above everybody who opened the log before.
result<log_epoch> raise(const log_directory& log, token with) {
  // A power loss may have left the word behind what the inline version says.
  const auto known = log.newest();
  if (!known) return known.error();
  for (log_epoch seen = log.epoch();;) {
    const log_epoch floor = std::max(seen, known->owner);
    if (floor.token() > with) return replaced(log, log_epoch::first_of(with));
    log_epoch mine = log_epoch::first_of(with);
    if (floor.token() == with) {
      if (floor.opening() == log_epoch::openings_max) {
        return error(errc::stale_token,
                     log.files().path() + ": token " + std::to_string(with.value) + " has opened " +
                         "it 2047 times, as often as one can; take the lock again");
      }
      mine = {floor.word + 1};
    }
    // By compare: of two who come with one token each has an opening of its own.
    if (log.raise_epoch(seen, mine)) return mine;
  }
}

void mark_failed(const log_directory& log, const segment_id& id, const log_mark& mark) {
  if (mark.how_old() == log_mark::age::this_boot) return mark.set_failed();
  (void)log.files().unlink(mark_name(id));
  if (const auto made = log_mark::create(log.files(), id, log.boot())) made->set_failed();
}

/// Reads the length of the segment that grew and cuts it to whole records. Whoever wrote it cannot
/// acknowledge another record: the epoch was raised before.
result<measured> measure(const log_directory& log, const log_inline& v, const segment_id& id) {
  const std::string name = segment_name(id);
  int code = 0;
  std::shared_ptr<io::folder_file> file = log.files().open(name, io::opening::write, code);
  // check_segments() has judged that it never was.
  if (!file && code == ENOENT) return measured{};
  if (!file) return io::file_failure("open", log.files().at(name), code);
  const auto size = file->size();
  if (!size) return io::file_failure("look at", log.files().at(name), size.code);
  measured m{{.id = id, .first = v.next}, static_cast<std::uint64_t>(size.value)};

  const log_mark mark = log_mark::find(log.files(), id, log.boot(), io::opening::write);
  const segment_place from = mark.acknowledged();
  if (from.bytes > m.size) {
    return error(errc::damaged, log.files().at(name) + " has " + std::to_string(m.size) +
                                    " bytes, and " + std::to_string(from.bytes) +
                                    " were acknowledged since this machine was started: somebody "
                                    "has cut it; restore it, or remove the log");
  }
  // What was acknowledged since this start of the machine is whole, and need not be read.
  record_cursor at(file, log.files().at(name), id, v.next, from);
  for (;;) {
    const auto step = at.look(m.size);
    if (!step) return step.error();
    if (*step != record_cursor::step::record) break;
    at.pass();
  }
  m.whole.records = at.at().records;
  m.whole.bytes = at.at().bytes;
  // Its writer has synced it up to here.
  if (m.whole.records == 0 || mark.synced() == at.at()) return m;

  if (!mark.failed()) {
    const auto synced = file->sync();
    if (synced) return m;
    // The next sealer must not take a second sync's word for it.
    mark_failed(log, id, mark);
    return io::file_failure("sync", log.files().at(name), synced.code, "open it again");
  }
  return m;
}

bool was_given_up(const log_directory& log, const segment_id& id) {
  return log_mark::find(log.files(), id, log.boot(), io::opening::read).failed();
}

/// No version will name this segment, and whoever sweeps removes it: its bytes get a second name,
/// which is on the disk before that version is. Not a new one: an older sealer may still find whole
/// records in it, and then its version needs the old name.
result<void> keep_what_is_cut(const log_directory& log, const segment_id& id) {
  const auto linked = log.files().link(segment_name(id), cut_name(id));
  // Another sealer did it, or there is a newer one that swept.
  if (!linked && linked.code != EEXIST && linked.code != ENOENT) {
    return io::file_failure("link", log.files().at(cut_name(id)), linked.code);
  }
  if (const auto synced = log.files().sync(); !synced) {
    return io::file_failure("sync", log.files().path(), synced.code);
  }
  return {};
}

/// The next version: what was open is sealed, and `mine` owns it.
result<log_inline> following(const log_directory& log, const log_inline& v, log_epoch mine,
                             then what, log_takeover& report) {
  log_inline next = v;
  next.version = v.version + 1;
  next.owner = mine;
  next.open = what == then::write ? std::optional<std::uint32_t>(0) : std::nullopt;
  report = {v.owner.token(), 0};
  const auto grew = v.open_segment();
  if (!grew) return next;
  const auto m = measure(log, v, *grew);
  if (!m) return m.error();
  report.bytes_cut = m->size - m->whole.bytes;
  const bool copied = m->whole.records > 0 && was_given_up(log, *grew);
  if (report.bytes_cut > 0 && (copied || m->whole.records == 0)) {
    if (auto kept = keep_what_is_cut(log, *grew); !kept) return kept.error();
  }
  if (m->whole.records == 0) return next;
  sealed_segment sealed = m->whole;
  // A sync of it has failed: what the file shows may not be on the disk, so all of it is written
  // and synced once more, in another file.
  if (copied) {
    auto copy = copy_segments(log, {sealed}, {mine, first_copy});
    if (!copy) return copy.error();
    sealed = *copy;
  }
  next.sealed.push_back(sealed);
  next.next = sealed.end();
  return next;
}

/// The newest version, whose segments are all there. Read after the epoch was raised.
result<log_inline> checked_newest(const log_directory& log) {
  for (int attempt = 0;; ++attempt) {
    auto v = log.newest();
    if (!v) return v.error();
    const auto good = log.check_segments(*v);
    if (good) return v;
    // A newer writer may have changed it in between.
    const auto again = log.newest();
    if (!again) return again.error();
    if (again->version == v->version || attempt == 100) return good.error();
  }
}

}  // namespace

error replaced(const log_directory& log, log_epoch mine) {
  if (auto synced = log.sync_epoch(); !synced) return synced.error();
  const token newest = log.epoch().token();
  std::string text = log.files().path() + " refuses token " + std::to_string(mine.token().value);
  text += newest == mine.token() ? ": it was opened once more with the same token"
                                 : ": it was opened with token " + std::to_string(newest.value);
  return {errc::stale_token, text + "; take the lock again to write"};
}

std::uint64_t spare_bytes(const log_inline& v) { return encode_inline(v).size() + 2 * disk_block; }

void remove_segment(const log_directory& log, const segment_id& id) noexcept {
  (void)log.files().unlink(segment_name(id));
  (void)log.files().unlink(mark_name(id));
}

result<own_segment> create_segment(const log_directory& log, const segment_id& id) {
  // Its epoch belongs to no other process, so this can only be left from before a power loss.
  remove_segment(log, id);
  int code = 0;
  own_segment made{id, log.files().open(segment_name(id), io::opening::create, code), {}};
  if (!made.file) {
    return io::file_failure("create", log.files().at(segment_name(id)), code);
  }
  auto mark = log_mark::create(log.files(), id, log.boot());
  if (!mark) {
    remove_segment(log, id);
    return mark.error();
  }
  made.mark = std::move(*mark);
  if (const auto synced = made.mark.sync(); !synced) {
    remove_segment(log, id);
    return io::file_failure("sync", log.files().at(mark_name(id)), synced.code);
  }
  return made;
}

void clean_up(const log_directory& log, const taken_log& taken) noexcept try {
  int code = 0;
  // A tail that was cut stays, for people to look at.
  if (taken.before && taken.report.bytes_cut == 0) {
    if (const auto file = log.files().open(segment_name(*taken.before), io::opening::write, code)) {
      if (const auto size = file->size()) {
        (void)file->truncate(static_cast<std::uint64_t>(size.value));
      }
    }
  }
  log.sweep(taken.version);
} catch (const std::bad_alloc&) {
  // Whoever opens the log next finds what is left.
}

result<taken_log> take_over(const log_directory& log, token with, then what) {
  const auto raised = raise(log, with);
  if (!raised) return raised.error();
  taken_log t{.mine = *raised, .version = {}, .segment = {}, .report = {}, .before = {}};
  // Before the version that names it, as all files are.
  if (what == then::write) {
    auto own = create_segment(log, {t.mine, 0});
    if (!own) return own.error();
    t.segment = std::move(*own);
  }
  // Each time that it is lost, an older sealer has linked its last version.
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const auto v = checked_newest(log);
    if (!v) return v.error();
    if (v->owner > t.mine) return replaced(log, t.mine);
    auto next = following(log, *v, t.mine, what, t.report);
    if (!next) return next.error();
    bool may_show{};
    const auto linked = log.publish(*next, {t.mine, 0}, may_show);
    if (!linked) return linked.error();
    // Also when it was linked: a newer one goes on from this version, and ours is not to be written
    // to.
    if (log.epoch() != t.mine) return replaced(log, t.mine);
    if (!*linked) continue;
    t.before = v->open_segment();
    t.version = std::move(*next);
    return t;
  }
  return error(errc::unavailable, log.files().path() + " changes all the time; try again");
}

}  // namespace holdfast::fencing
