#include "io/file/sighting_file.hpp"

#include "core/cut.hpp"
#include "core/fnv1a.hpp"
#include "core/hexadecimal.hpp"
#include "core/whole_number.hpp"
#include "io/file/file_lock.hpp"
#include "io/file/files.hpp"
#include "io/process/process_identity.hpp"
#include "io/thread/random.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::io {

namespace {

constexpr std::size_t bytes_max = 256 * 1024;

// The same in every process; a collision is found by the URL inside.
std::string name_of(const std::string& url) {
  return "sightings-" + core::hexadecimal(core::fnv1a(url));
}

// What the notes of all clocks on one store begin with.
std::string common_header(const std::string& url) { return "holdfast-sightings 1\n" + url + '\n'; }

std::string header(const std::string& url) {
  const std::string boot = boot_clock();
  if (boot.empty()) return {};  // Whose clock the times are of cannot be told.
  return common_header(url) + boot + '\n';
}

// Only a plain file of our own: somebody else's notes could make us take over too early.
std::string contents(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return {};
  std::string text;
  struct stat s {};
  if (::fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == ::geteuid() &&
      (s.st_mode & 0022) == 0) {
    std::array<char, 4096> part{};
    for (ssize_t got = 1; got > 0 && text.size() <= bytes_max;) {
      got = ::read(fd, part.data(), part.size());
      if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
    }
  }
  ::close(fd);
  return text.size() > bytes_max ? std::string() : text;
}

bool parse(std::string_view line, session_id& id, core::sightings::sight& s) {
  const auto read = session_id::parse(core::cut(line, ' '));
  const auto inc = core::whole_number<std::uint64_t>(core::cut(line, ' '));
  const auto beat = core::whole_number<std::uint64_t>(core::cut(line, ' '));
  const auto denied = core::cut(line, ' ');
  const auto ttl = core::whole_number<std::int64_t>(core::cut(line, ' '));
  const auto since = core::whole_number<std::int64_t>(line);
  if (!read || !inc || !beat || (denied != "0" && denied != "1") || !ttl || !since) return false;
  if (*ttl <= 0 || *ttl > core::ttl_max.count() || *since <= 0) return false;
  id = *read;
  s.at = {*inc, *beat, denied == "1"};
  s.ttl = duration{*ttl};
  s.since = time_point{duration{*since}};
  return s.since <= clock::now();
}

void make_directory(const std::string& path) {
  for (auto at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    ::mkdir(path.substr(0, at).c_str(), 0700);
  }
  ::mkdir(path.c_str(), 0700);
}

// Nobody reads them any more.
void remove_those_of_other_boots(const std::string& directory, const std::string& url) {
  const auto opened = open_directory(directory);
  const auto names = opened ? names_in(opened->get(), directory) : opened.error();
  const std::string boot = boot_id();
  if (!names || boot.empty()) return;
  for (const auto& name : *names) {
    if (!name.starts_with(name_of(url))) continue;
    const auto path = path_in(directory, name);
    const auto text = contents(path);
    const bool is_other =
        text.starts_with(common_header(url)) && !text.starts_with(common_header(url) + boot + ' ');
    if (is_other) ::unlink(path.c_str());
  }
}

/// One process at a time reads the notes and writes them, or what another wrote in between would
/// be lost. The lock is on a file of its own: the notes are another file after each writing.
class writers_turn {
 public:
  writers_turn(const std::string& directory, const std::string& name, duration limit) {
    const auto opened = open_directory(directory);
    if (!opened) return;
    auto file = open_or_create({opened->get(), directory}, name.c_str(), 0600);
    if (!file) return;
    file_ = std::move(*file);
    const auto got = lock_byte(file_.get(), 0, share::alone, limit);
    has_it_ = got && *got;
    if (has_it_) held_ = locked_byte(file_.get(), 0);
  }
  bool has_it() const noexcept { return has_it_; }

 private:
  bool has_it_{};
  unique_fd file_;
  locked_byte held_;  // Given back before the file is closed.
};

}  // namespace

sighting_file::sighting_file(const std::string& directory, std::string url, duration turn_limit)
    : directory_(directory),
      url_(std::move(url)),
      // A file for each time namespace: they cannot read each other's times.
      path_(directory + "/" + name_of(url_) + "-" + core::hexadecimal(core::fnv1a(boot_clock()))),
      turn_limit_(turn_limit) {}

sighting_file::sights sighting_file::read() const {
  const auto text = contents(path_);
  const auto expected = header(url_);
  if (expected.empty() || !text.starts_with(expected)) return {};
  sights found;
  std::string_view lines(text);
  lines.remove_prefix(expected.size());
  lines = lines.substr(0, lines.rfind('\n') + 1);  // A part of a number would be an earlier time.
  while (!lines.empty() && found.size() < sights_max) {
    session_id id;
    core::sightings::sight s;
    if (parse(core::cut(lines, '\n'), id, s)) found.emplace(id, s);
  }
  return found;
}

core::sightings sighting_file::merge(const core::sightings& notes) const {
  make_directory(directory_);
  const writers_turn ours(directory_, name_of(url_) + ".lock", turn_limit_);
  if (::access(path_.c_str(), F_OK) != 0) remove_those_of_other_boots(directory_, url_);
  sights all = read();
  for (const auto& [id, sight] : notes.all()) {
    const auto [at, added] = all.try_emplace(id, sight);
    if (added) continue;
    const bool same = at->second.at == sight.at;
    if (same ? sight.since < at->second.since : sight.since > at->second.since) at->second = sight;
  }
  core::sightings kept;
  for (const auto& [id, sight] : all) kept.recall(id, sight);
  kept.bound(sights_max, clock::now());
  // In our turn nobody else has the draft open, and one that a killed writer left is written over.
  const std::string draft = path_ + ".new";
  if (ours.has_it()) ::unlink(draft.c_str());
  write(kept, ours.has_it() ? draft : path_ + "." + random_session_id().str());
  return kept;
}

bool sighting_file::write(const core::sightings& notes, const std::string& draft) const {
  std::string bytes = header(url_);
  if (bytes.empty()) return false;  // Others can tell theirs, and may have notes there.
  for (const auto& [id, s] : notes.all()) {
    bytes += id.str() + ' ' + std::to_string(s.at.inc) + ' ' + std::to_string(s.at.beat);
    bytes += s.at.denied ? " 1 " : " 0 ";
    bytes += std::to_string(s.ttl.count()) + ' ';
    bytes += std::to_string(s.since.time_since_epoch().count()) + '\n';
  }
  const int fd = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool whole = ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  ::close(fd);
  if (whole && ::rename(draft.c_str(), path_.c_str()) == 0) return true;
  ::unlink(draft.c_str());
  return false;
}

}  // namespace holdfast::io
