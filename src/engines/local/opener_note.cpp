#include "engines/local/opener_note.hpp"

#include "core/cut.hpp"
#include "core/whole_number.hpp"
#include "engines/local/directory.hpp"
#include "io/process/process_identity.hpp"

#include <sys/resource.h>

#include <span>
#include <string_view>

namespace holdfast::engines::local {
namespace {

constexpr std::size_t note_bytes = 64;

// A write beyond RLIMIT_FSIZE ends the process (setrlimit(2)), and who only looks needs none.
bool may_write(std::size_t bytes) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= bytes;
}

}  // namespace

void leave_note(int lock_file) {
  // Always as long, for it replaces another.
  std::string note =
      std::to_string(io::process_identity().pid) + " " + std::to_string(io::pid_namespace());
  note.resize(note_bytes, '\n');
  if (!may_write(note.size())) return;
  (void)io::write_at(lock_file, std::as_bytes(std::span(note)), 0, "");
}

std::string read_note(int lock_file) {
  std::string note(note_bytes, '\0');
  const auto size = io::read_at(lock_file, std::as_writable_bytes(std::span(note)), 0, "");
  note.resize(size ? *size : 0);
  return note;
}

error kept_out(const std::string& first, const std::string& last, const std::string& path) {
  const std::string so_long = " been opening " + path + " for more than 5 s";
  if (first != last) {
    return {errc::unavailable,
            "several processes have" + so_long + ", one after another; try again"};
  }
  std::string_view words(last);
  const auto pid = core::whole_number<std::int64_t>(core::cut(words, ' '));
  const auto names = core::whole_number<std::uint64_t>(core::cut(words, '\n'));
  std::string who = "another process";
  if (pid && names) {
    const bool here = *names == io::pid_namespace();
    who = here ? "process " + std::to_string(*pid) : "a process of another pid namespace";
    if (here && !io::is_running(*pid)) {
      const std::string lock = path + "/" + file::lock;
      return {errc::unavailable,
              who + " ended while it was opening " + path +
                  ", and a process that it forked still has its lock (or another one that could "
                  "not leave its name); end that one: it has " +
                  lock + " open (`fuser " + lock + "`)"};
    }
  }
  return {errc::unavailable, who + " has" + so_long + "; it may be stopped: continue or end it"};
}

}  // namespace holdfast::engines::local
