#include "io/file/sighting_file.hpp"

#include "core/cut.hpp"
#include "core/fnv1a.hpp"
#include "core/hexadecimal.hpp"
#include "core/whole_number.hpp"
#include "io/file/files.hpp"
#include "io/file/own_notes.hpp"
#include "io/file/writers_turn.hpp"
#include "io/process/process_identity.hpp"
#include "io/thread/random.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

/// Times of one boot and one clock, for this user's next process. Whatever cannot be read is no
/// note: then a takeover only waits for longer.

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

// Nobody reads them any more.
void remove_those_of_other_boots(const std::string& directory, const std::string& url) {
  const auto opened = open_directory(directory);
  const auto names = opened ? names_in(opened->get(), directory) : opened.error();
  const std::string boot = boot_id();
  if (!names || boot.empty()) return;
  for (const auto& name : *names) {
    if (!name.starts_with(name_of(url))) continue;
    const auto path = path_in(directory, name);
    const auto text = own_text(AT_FDCWD, path, bytes_max);
    const bool is_other =
        text.starts_with(common_header(url)) && !text.starts_with(common_header(url) + boot + ' ');
    if (is_other) ::unlink(path.c_str());
  }
}

}  // namespace

sighting_file::sighting_file(const std::string& directory, std::string url, duration turn_limit)
    : directory_(directory),
      url_(std::move(url)),
      // A file for each time namespace: they cannot read each other's times.
      path_(directory + "/" + name_of(url_) + "-" + core::hexadecimal(core::fnv1a(boot_clock()))),
      turn_limit_(turn_limit) {}

sighting_file::sights sighting_file::read() const {
  const auto text = own_text(AT_FDCWD, path_, bytes_max);
  std::string_view lines = lines_below(header(url_), text);
  sights found;
  while (!lines.empty() && found.size() < sights_max) {
    session_id id;
    core::sightings::sight s;
    if (parse(core::cut(lines, '\n'), id, s)) found.emplace(id, s);
  }
  return found;
}

core::sightings sighting_file::merge(const core::sightings& notes) const {
  (void)make_directories(directory_, 0700);
  const auto ours = turn();
  if (::access(path_.c_str(), F_OK) != 0) remove_those_of_other_boots(directory_, url_);
  core::sightings kept;
  for (const auto& [id, sight] : read()) kept.recall(id, sight);
  kept.merge(notes);
  kept.bound(sights_max, clock::now());
  // In our turn nobody else has the draft open, and one that a killed writer left is written over.
  const std::string draft = path_ + ".new";
  if (ours) ::unlink(draft.c_str());
  write(kept, ours ? draft : path_ + "." + random_session_id().str());
  return kept;
}

result<writers_turn> sighting_file::turn() const {
  const auto directory = open_directory(directory_);
  if (!directory) return directory.error();
  return writers_turn::take({directory->get(), directory_}, name_of(url_), turn_limit_);
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
  // Not synced: after a power loss the times mean nothing.
  // A umask may take our own rights away, and with them the notes from our next process.
  const bool whole = ::fchmod(fd, S_IRUSR | S_IWUSR) == 0 &&
                     ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  ::close(fd);
  if (whole && ::rename(draft.c_str(), path_.c_str()) == 0) return true;
  ::unlink(draft.c_str());
  return false;
}

}  // namespace holdfast::io
