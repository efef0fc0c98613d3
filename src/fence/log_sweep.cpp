#include "fence/log_directory.hpp"
#include "fence/log_names.hpp"
#include "io/file/files.hpp"

#include <algorithm>
#include <cerrno>
#include <new>

namespace holdfast::fencing {
namespace {

std::vector<segment_id> named_by(const log_inline& v) {
  std::vector<segment_id> all;
  all.reserve(v.sealed.size() + 1);
  for (const auto& s : v.sealed) all.push_back(s.id);
  if (const auto open = v.open_segment()) all.push_back(*open);
  std::sort(all.begin(), all.end());
  return all;
}

bool is_in(const std::vector<segment_id>& named, const segment_id& id) {
  return std::binary_search(named.begin(), named.end(), id);
}

}  // namespace

result<void> log_directory::check_segments(const log_inline& v) const {
  const auto size_of = [&](const segment_id& id) -> result<std::uint64_t> {
    const std::string name = segment_name(id);
    int code = 0;
    const auto file = files().open(name, io::opening::read, code);
    if (!file && code == ENOENT) {
      return error(errc::damaged, files().at(name) + " is missing; restore it from a copy");
    }
    if (!file) return io::file_failure("open", files().at(name), code);
    const auto size = file->size();
    if (!size) return io::file_failure("look at", files().at(name), size.code);
    return static_cast<std::uint64_t>(size.value);
  };
  for (const auto& s : v.sealed) {
    const auto size = size_of(s.id);
    if (!size) return size.error();
    if (*size < s.bytes) {
      return error(errc::damaged, files().at(segment_name(s.id)) + " has " + std::to_string(*size) +
                                      " bytes of " + std::to_string(s.bytes) +
                                      "; restore it from a copy");
    }
  }
  if (const auto open = v.open_segment()) {
    // A power loss may have kept a version and not yet the new segment's name. Then the hint, which
    // follows when both are on the disk, does not name that version, and nothing was appended.
    const auto size = size_of(*open);
    if (!size && (size.error() != errc::damaged || version_hint() >= v.version)) {
      return size.error();
    }
  }
  std::vector<std::string> all;
  if (const auto listed = files().list(all); !listed) {
    return io::file_failure("read the directory", files().path(), listed.code);
  }
  const auto named = named_by(v);
  for (const auto& name : all) {
    const auto id = segment_in(name);
    if (!id || id->of < v.owner || id->ordinal >= first_copy || is_in(named, *id)) continue;
    if (id->of == v.owner && (!v.open || id->ordinal < *v.open)) continue;
    // A segment gets its first record after the version that names it.
    const auto size = size_of(*id);
    if (size && *size > 0) {
      return error(errc::damaged, files().at(name) +
                                      " has records, and the inline version that names it is "
                                      "missing; restore that from a copy");
    }
  }
  return {};
}

bool log_directory::is_leftover(const std::string& name, const log_inline& newest,
                                const std::vector<segment_id>& named) const {
  if (const auto version = version_in(name)) return *version + versions_kept < newest.version;
  if (is_founding_draft(name)) return true;
  if (const auto id = draft_in(name)) return id->of < newest.owner;
  if (const auto id = mark_in(name)) return id->of < newest.owner;
  if (const auto id = segment_in(name)) return id->of < newest.owner && !is_in(named, *id);
  // It is part of the log after all: the sealer that gave it the second name lost the link.
  if (const auto id = cut_in(name)) return id->of < newest.owner && is_in(named, *id);
  return false;
}

void log_directory::drop_before(const log_inline& newest) const noexcept {
  if (newest.version <= versions_kept) return;
  try {
    (void)files().unlink(inline_name(newest.version - versions_kept - 1));
  } catch (const std::bad_alloc&) {  // Then the next one who opens the log does it.
  }
}

void log_directory::sweep(const log_inline& newest) const noexcept try {
  std::vector<std::string> all;
  if (!files().list(all)) return;
  const auto named = named_by(newest);
  for (const auto& name : all) {
    if (is_leftover(name, newest, named)) (void)files().unlink(name);
  }
} catch (const std::bad_alloc&) {
}

}  // namespace holdfast::fencing
