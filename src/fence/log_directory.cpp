#include "fence/log_directory.hpp"

#include "fence/full_fence.hpp"
#include "fence/log_names.hpp"
#include "io/file/files.hpp"
#include "io/thread/random.hpp"

#include <algorithm>
#include <cerrno>

namespace holdfast::fencing {
namespace {

error not_a_log(const io::folder& files, std::string_view why) {
  return {errc::damaged, files.path() + " is not a log: " + std::string(why) +
                             "; name an empty directory, or that of a log"};
}

/// All of a small file; nothing when there is none.
result<std::optional<std::string>> read_text(io::folder& files, const std::string& name) {
  int code = 0;
  const auto file = files.open(name, io::opening::read, code);
  if (!file && code == ENOENT) return std::optional<std::string>{};
  if (!file) return io::file_failure("open", files.at(name), code);
  const auto size = file->size();
  if (!size) return io::file_failure("look at", files.at(name), size.code);
  if (size.value > static_cast<std::int64_t>(inline_bytes_max)) {
    return error(errc::damaged, files.at(name) + " is far too long; restore it from a copy");
  }
  std::string text(static_cast<std::size_t>(size.value), '\0');
  const auto got =
      io::read_fully(*file, std::as_writable_bytes(std::span(text)), 0, files.at(name));
  if (!got) return got.error();
  text.resize(*got);
  return std::optional<std::string>(std::move(text));
}

/// A new file with this content, synced.
result<std::unique_ptr<io::folder_file>> write_draft(io::folder& files, const std::string& name,
                                                     std::string_view content) {
  (void)files.unlink(name);
  int code = 0;
  auto file = files.open(name, io::opening::create, code);
  if (!file) return io::file_failure("create", files.at(name), code);
  auto done = io::write_fully(*file, std::as_bytes(std::span(content)), 0, files.at(name));
  if (done) {
    if (const auto synced = file->sync(); !synced) {
      done = io::file_failure("sync", files.at(name), synced.code);
    }
  }
  if (done) return file;
  (void)files.unlink(name);
  return done.error();
}

}  // namespace

result<log_directory> log_directory::open(log_ground on, const std::string* found_for,
                                          io::opening how) {
  log_directory d;
  d.on_ = std::move(on);
  auto there = d.read_format(found_for);
  if (there && !*there && found_for != nullptr) {
    if (auto made = d.found(*found_for); !made) return made.error();
    there = d.read_format(found_for);
  }
  if (!there) return there.error();
  if (!*there) {
    return error(errc::unavailable,
                 d.files().path() + " holds no log; a writer makes one when it opens it");
  }
  if (auto mapped = d.map_epoch(how); !mapped) return mapped.error();
  // Before the first version: whoever made the log may have ended before it synced the name. One
  // that may not read what is above was given the directory by somebody else.
  if (how != io::opening::read && d.version_hint() == 0) {
    if (const auto synced = d.files().sync_above(); !synced && synced.code != EACCES) {
      return io::file_failure("sync the directory above", d.files().path(), synced.code);
    }
  }
  return d;
}

result<bool> log_directory::read_format(const std::string* found_for) {
  const auto text = read_text(files(), format_file);
  if (!text) return text.error();
  if (!*text) return false;
  auto source = decode_format(**text, files().at(format_file));
  if (!source) return source.error();
  if (found_for != nullptr && *source != *found_for) {
    return error(errc::invalid_argument, files().path() + " compares tokens of " + *source +
                                             " and was given one of " + *found_for +
                                             "; use the lock that the log was made with");
  }
  source_ = std::move(*source);
  return true;
}

result<void> log_directory::place(std::string_view name, std::string_view content) const {
  const std::string draft = founding_draft(name, io::random_bits());
  const auto file = write_draft(files(), draft, content);
  if (!file) return file.error();
  const auto linked = files().link(draft, std::string(name));
  (void)files().unlink(draft);
  // Somebody else may make it at the same time, and then the one that was first counts.
  if (!linked && linked.code != EEXIST && linked.code != ENOENT) {
    return io::file_failure("link", files().at(name), linked.code);
  }
  return {};
}

result<void> log_directory::found(const std::string& source) {
  std::vector<std::string> names;
  if (const auto listed = files().list(names); !listed) {
    return io::file_failure("read the directory", files().path(), listed.code);
  }
  for (const auto& name : names) {
    if (name != epoch_file && name != format_file && !is_founding_draft(name)) {
      return not_a_log(files(), "it has no file \"format\" and is not empty");
    }
  }
  if (auto placed = place(epoch_file, std::string(page, '\0')); !placed) return placed;
  // The epoch's name first: a format without it would be damage.
  if (const auto synced = files().sync(); !synced) {
    return io::file_failure("sync", files().path(), synced.code);
  }
  if (auto placed = place(format_file, encode_format(source)); !placed) return placed;
  if (const auto synced = files().sync(); !synced) {
    return io::file_failure("sync", files().path(), synced.code);
  }
  return {};
}

result<void> log_directory::map_epoch(io::opening how) {
  int code = 0;
  epoch_ = files().open(epoch_file, how, code);
  if (!epoch_ && code == ENOENT) {
    return error(errc::damaged,
                 files().at(epoch_file) +
                     " is missing; when no process has the log open, make it " +
                     "anew with `truncate -s 4096`: the inline versions know the newest writer");
  }
  if (!epoch_) return io::file_failure("open", files().at(epoch_file), code);
  const auto size = epoch_->size();
  if (!size) return io::file_failure("look at", files().at(epoch_file), size.code);
  if (size.value != static_cast<std::int64_t>(page)) {
    return error(errc::damaged, files().at(epoch_file) + " has " + std::to_string(size.value) +
                                    " bytes instead of 4096; restore it from a copy");
  }
  words_ = epoch_->map(page, code);
  if (words_ == nullptr) return io::file_failure("map", files().at(epoch_file), code);
  return {};
}

log_epoch log_directory::epoch() const noexcept {
  full_fence();
  return {word(0).load()};
}

result<void> log_directory::sync_epoch() const {
  if (const auto synced = epoch_->sync(); !synced) {
    return io::file_failure("sync", files().at(epoch_file), synced.code);
  }
  return {};
}

result<std::vector<std::uint64_t>> log_directory::versions() const {
  std::vector<std::string> names;
  if (const auto listed = files().list(names); !listed) {
    return io::file_failure("read the directory", files().path(), listed.code);
  }
  std::vector<std::uint64_t> found;
  for (const auto& name : names) {
    if (const auto version = version_in(name)) found.push_back(*version);
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

result<std::optional<log_inline>> log_directory::read_version(std::uint64_t version) const {
  const std::string name = inline_name(version);
  const auto text = read_text(files(), name);
  if (!text) return text.error();
  if (!*text) return std::optional<log_inline>{};
  auto v = decode_inline(**text, files().at(name));
  if (!v) return v.error();
  if (v->version != version) {
    return error(errc::damaged, files().at(name) + " holds version " + std::to_string(v->version) +
                                    "; restore it from a copy");
  }
  return std::optional<log_inline>(std::move(*v));
}

result<log_inline> log_directory::newest() const {
  auto found = newest_readable();
  if (!found) return found.error();
  if (found->fault) return *found->fault;
  return std::move(found->version);
}

result<log_directory::readable> log_directory::newest_readable() const {
  // One that was removed between the listing and the reading was followed by newer ones.
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::uint64_t at_least = version_hint();
    const auto found = versions();
    if (!found) return found.error();
    readable best;
    const std::uint64_t top = found->empty() ? 0 : found->front();
    if (top < at_least) {
      best.fault = error(errc::damaged,
                         files().at(inline_name(at_least)) + " is missing; restore it from a copy");
    }
    bool again = false;
    for (const std::uint64_t version : *found) {
      auto v = read_version(version);
      if (v && !*v && version == top) {
        again = true;
        break;
      }
      if (v && *v) {
        best.version = std::move(**v);
        break;
      }
      if (!v && v.error() != errc::damaged) return v.error();
      if (!v && !best.fault) best.fault = v.error();
    }
    if (!again) return best;
  }
  return error(errc::unavailable, files().path() + " changes all the time; try again");
}

result<bool> log_directory::publish(const log_inline& v, const segment_id& draft,
                                    bool& may_show) const {
  may_show = false;
  const std::string text = encode_inline(v);
  if (text.size() > inline_bytes_max) {
    return error(errc::unavailable, files().at(inline_name(v.version)) +
                                        " would be too long to be read; compact() the log");
  }
  const std::string from = draft_name(draft);
  const auto file = write_draft(files(), from, text);
  if (!file) return file.error();
  // By link(2), which fails where the name is taken: rename(2) would replace what another writer
  // made.
  const auto linked = files().link(from, inline_name(v.version));
  (void)files().unlink(from);
  // ENOENT: a newer writer swept the draft away.
  if (!linked && (linked.code == EEXIST || linked.code == ENOENT)) return false;
  // Without room for the name there is none. What else can fail is seldom known to be undone.
  may_show = linked || (linked.code != ENOSPC && linked.code != EDQUOT);
  if (!linked) return io::file_failure("link", files().at(inline_name(v.version)), linked.code);
  if (const auto synced = files().sync(); !synced) {
    return io::file_failure("sync", files().path(), synced.code);
  }
  // Behind the sync: the hint promises that the version is on the disk.
  std::uint64_t seen = word(1).load();
  while (seen < v.version && !word(1).compare_exchange_weak(seen, v.version)) {
  }
  return true;
}

}  // namespace holdfast::fencing
