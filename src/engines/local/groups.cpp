#include "engines/local/groups.hpp"

#include "io/file/files.hpp"

#include <grp.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace holdfast::engines::local {

namespace {

// A group's entry has the names of its members; for a longer one getgrnam_r(3) fails (ERANGE).
constexpr std::size_t entry_bytes = 16384;

}  // namespace

result<gid_t> group_named(const std::string& name) {
  std::vector<char> room(entry_bytes);
  group entry{};
  group* found = nullptr;
  const int rc = ::getgrnam_r(name.c_str(), &entry, room.data(), room.size(), &found);
  if (rc != 0) return io::file_failure("look up the group", name, rc);
  if (found == nullptr) {
    return error(errc::invalid_argument, "there is no group named \"" + name + "\"");
  }
  return entry.gr_gid;
}

std::string name_of_group(gid_t id) {
  std::vector<char> room(entry_bytes);
  group entry{};
  group* found = nullptr;
  const int rc = ::getgrgid_r(id, &entry, room.data(), room.size(), &found);
  return rc == 0 && found != nullptr ? std::string(entry.gr_name) : std::to_string(id);
}

bool is_in_group(gid_t id) {
  if (::getegid() == id) return true;
  const int count = ::getgroups(0, nullptr);
  std::vector<gid_t> groups(count > 0 ? static_cast<std::size_t>(count) : 0);
  const int got = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return std::ranges::find(groups, id) != groups.end();
}

}  // namespace holdfast::engines::local
