#include "engines/local/diagnose.hpp"

#include "engines/local/keys.hpp"
#include "io/file/file_system.hpp"

#include <holdfast/duration.hpp>

#include <fcntl.h>

#include <string>

namespace holdfast::engines::local {
namespace {

using findings = std::vector<finding>;

constexpr std::uint64_t little_space = 64 * 1024 * 1024;

std::string mebibytes(std::uint64_t size) { return std::to_string(size / (1024 * 1024)) + " MiB"; }

void look_at_directory(environment& store, findings& all) {
  const directory& d = store.place();
  const std::string& path = d.where().path;
  if (auto fs = io::file_system_of(d.where().directory, path)) {
    const bool low = fs->free < little_space;
    all.push_back({low ? severity::warning : severity::good,
                   "file system",
                   path + " is on " + fs->name + ", " + mebibytes(fs->free) + " free" +
                       (low ? "; free some space" : ""),
                   {{"free_bytes", static_cast<double>(fs->free)}}});
  }
  const mode_t others = d.facts().mode & (d.grouped() ? 0007U : 0077U);
  all.push_back({others != 0 ? severity::warning : severity::good, "permissions",
                 path + " belongs to user " + std::to_string(d.facts().owner) + ", group " +
                     std::to_string(d.facts().group) +
                     (others != 0 ? "; others can look into it: chmod go-rwx it"
                                  : (d.grouped() ? ", open to that group" : ", theirs alone"))});
  if (const std::string why = directory::obstacle(path); !why.empty()) {
    all.push_back({severity::warning, "permissions",
                   why +
                       "; so after the next boot, when its data are made anew, no lock can be "
                       "taken there: " +
                       (d.grouped() ? "chmod 2770 it" : "chmod 0700 it")});
  }
  all.push_back({severity::good, "format", "version 1, data of this boot"});
}

void look_at_floor(environment& store, findings& all) {
  auto ceiling = store.floor().ceiling();
  if (!ceiling) {
    all.push_back({severity::fault, "token floor", ceiling.error().message()});
    return;
  }
  const std::uint64_t synced = store.shared().synced_ceiling.load();
  // No fault yet: until the next boot tokens go by the ceiling in memory, and the next block of
  // them writes the file again.
  const bool lost = *ceiling < synced;
  all.push_back({lost ? severity::warning : severity::good,
                 "token floor",
                 lost ? "the file lost its contents; it is written again within " +
                            std::to_string(token_floor::block) + " tokens"
                      : "tokens up to " + std::to_string(*ceiling) + " are safe on the disk",
                 {{"ceiling", static_cast<double>(*ceiling)}}});
}

void look_at_data(environment& store, findings& all) {
  std::uint64_t sessions = 0;
  database::usage used;
  // Takes the gate as well, so a process that is stuck inside shows here.
  const failure failed = store.read([&](transaction& txn) {
    used = store.data().used();
    txn.walk(bytes(&sessions_begin, 1), bytes(&sessions_begin, 1), [&](bytes, bytes) {
      ++sessions;
      return true;
    });
  });
  if (failed) {
    const bool damaged = failed.what == core::status::damaged;
    all.push_back({severity::fault, damaged ? "data" : "gate", failed.text});
    return;
  }
  all.push_back({severity::good, "gate", "free: no process is stuck inside"});
  const bool high = used.used > used.limit / 10 * 9;
  all.push_back({high ? severity::warning : severity::good,
                 "data",
                 std::to_string(sessions) + " sessions, " + mebibytes(used.used) + " of " +
                     mebibytes(used.limit) + " used" +
                     (high ? "; end sessions or use another store" : ""),
                 {{"sessions", static_cast<double>(sessions)},
                  {"used_bytes", static_cast<double>(used.used)},
                  {"limit_bytes", static_cast<double>(used.limit)}}});
}

void look_at_processes(environment& store, findings& all) {
  std::uint64_t open = 0;
  const std::uint32_t used = store.shared().slots_used.load();
  for (std::uint32_t n = 0; n < used && n < io::process_slot::count; ++n) {
    if (store.slots().look(n).alive) ++open;
  }
  const bool many = open > io::process_slot::count / 10 * 9;
  all.push_back({many ? severity::warning : severity::good,
                 "processes",
                 std::to_string(open) + " of at most " + std::to_string(io::process_slot::count) +
                     " have it open",
                 {{"processes", static_cast<double>(open)},
                  {"limit", static_cast<double>(io::process_slot::count)}}});
}

void look_at_life(environment& store, findings& all) {
  const io::place& where = store.place().where();
  const std::string path = where.at(file::life);
  const io::unique_fd fd(
      ::openat(where.directory, file::life, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  auto names = fd ? io::names_in(fd.get(), path)
                  : result<std::vector<std::string>>(io::file_failure("open", path, errno));
  if (!names) {
    all.push_back({severity::fault, "life locks", names.error().message()});
    return;
  }
  std::size_t held = 0;
  for (const std::string& name : *names) {
    auto one = io::open_existing({fd.get(), path}, name.c_str());
    if (one && *one && !io::is_unlocked((*one)->get())) ++held;
  }
  all.push_back(
      {severity::good,
       "life locks",
       std::to_string(held) + " held, " + std::to_string(names->size() - held) +
           " left by the dead",
       {{"held", static_cast<double>(held)}, {"dead", static_cast<double>(names->size() - held)}}});
}

}  // namespace

result<std::vector<finding>> diagnose(environment& store) {
  if (store.is_inherited()) {
    return error(errc::unavailable, "the store was opened before this process was forked");
  }
  findings all;
  look_at_directory(store, all);
  look_at_floor(store, all);
  look_at_data(store, all);
  look_at_processes(store, all);
  look_at_life(store, all);
  return all;
}

}  // namespace holdfast::engines::local
