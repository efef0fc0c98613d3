#include "engines/local/folder_access.hpp"

#include "engines/local/groups.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <utility>

namespace holdfast::engines::local {

namespace {

std::string octal(mode_t mode) {
  std::string text = "0000";
  for (std::size_t i = 4; i-- > 0; mode >>= 3U) text[i] = static_cast<char>('0' + (mode & 7U));
  return text;
}

error refused(std::string text) { return error::for_operator(errc::unavailable, std::move(text)); }

}  // namespace

bool folder_access::is_sticky() const noexcept { return (facts.mode & S_ISVTX) != 0; }
bool folder_access::is_ours() const noexcept { return facts.owner == ::geteuid(); }

std::string folder_access::folder_below() const {
  if (!is_sticky() && !is_ours()) return {};
  return ", such as local:" + (path == "/" ? "" : path) + "/holdfast" +
         (group.empty() ? "" : "?group=" + group);
}

std::string folder_access::advice(const std::string& change) const {
  if (is_sticky()) return "leave it so, others need it; use a folder below it" + folder_below();
  return (is_ours() ? "" : "its owner may ") + change;
}

result<void> folder_access::check(std::optional<gid_t> id) const {
  if (auto done = id ? check_group(*id) : check_owner(); !done) return done;
  const mode_t forbidden = id ? 0002 : 0022;
  if ((facts.mode & forbidden) == 0) return {};
  return refused(path + " has mode " + octal(facts.mode) + ", so others may write to it; " +
                 advice(id ? "chmod 2770 it" : "chmod 0700 it, or open it with ?group="));
}

result<void> folder_access::check_group(gid_t id) const {
  if (facts.group != id) {
    return refused(path + " does not belong to the group " + group + "; " +
                   advice("chgrp and chmod 2770 it, or leave ?group= out"));
  }
  // Else files would belong to the first group of whoever makes them, and be closed to all others.
  if ((facts.mode & 02000) != 0) return {};
  return refused(path + " has mode " + octal(facts.mode) +
                 ", so new files in it do not belong to the group " + group + "; " +
                 advice("chmod 2770 it"));
}

result<void> folder_access::check_owner() const {
  if ((facts.mode & 02020) == 02020) {
    const std::string name = name_of_group(facts.group);
    const std::string open_to =
        path + " is open to the group " + name + " (mode " + octal(facts.mode) + ")";
    if (group_named(name)) return refused(open_to + "; open it with ?group=" + name);
    return refused(open_to + ", which has no name on this machine; " +
                   advice("chgrp it to a group that has and open it with ?group="));
  }
  if (is_ours()) return {};
  return refused(path + " belongs to user " + std::to_string(facts.owner) + ", not to you (" +
                 std::to_string(::geteuid()) + "); use a store of your own" + folder_below() +
                 ", or one with ?group=");
}

error why_closed(const error& why, const std::string& path, const std::string& group,
                 std::optional<gid_t> id) {
  struct stat s {};
  if (::stat(path.c_str(), &s) == 0 && !S_ISDIR(s.st_mode)) return why;
  if (::faccessat(AT_FDCWD, path.c_str(), R_OK | X_OK, AT_EACCESS) == 0 || errno != EACCES) {
    return why;
  }
  if (id) {
    if (is_in_group(*id)) return why;
    return io::file_failure(
        "open the directory", path, EACCES,
        "you are not in the group " + group + " (whoever was added to it has to log in again)");
  }
  return why.reworded(why.message() + ". A store for several users is made with ?group=GROUP");
}

}  // namespace holdfast::engines::local
