#include "cli/find_command.hpp"

#include "cli/command_line.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace holdfast::cli {

namespace {

constexpr const char* path_when_unset = "/bin:/usr/bin";  // confstr(_CS_PATH) of glibc.

bool is_folder(const std::string& path) {
  struct stat seen {};
  return ::stat(path.c_str(), &seen) == 0 && S_ISDIR(seen.st_mode);
}

found_command look_at(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0) {
    if (errno == ENOENT) return {"", false, as_typed(path) + ": no such file"};
    return {"", true, path + ": " + std::strerror(errno)};
  }
  if (is_folder(path)) return {"", true, path + " is a directory"};
  if (::access(path.c_str(), X_OK) != 0) return {"", true, path + " is not executable (chmod +x?)"};
  return {path, true, ""};
}

}  // namespace

found_command find_command(const std::string& name) {
  if (name.empty()) return {"", false, "the command's name is empty"};
  if (name.find('/') != std::string::npos) return look_at(name);
  const char* variable = std::getenv("PATH");
  std::string_view rest(variable != nullptr ? variable : path_when_unset);
  const bool has_blank = name.find(' ') != std::string::npos;
  found_command refused{
      "", false,
      as_typed(name) + ": not found in PATH" +
          (has_blank ? "; give the program and its arguments as separate words" : "")};
  while (true) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string folder(end == 0 ? "." : rest.substr(0, end));
    const std::string file = folder + "/" + name;
    const found_command seen = look_at(file);
    if (!seen.path.empty()) return seen;
    // As execvp: what may not be run is remembered, and the search goes on.
    const bool there = ::access(file.c_str(), F_OK) == 0;
    if (there && !refused.exists && !is_folder(file)) refused = seen;
    if (end == rest.size()) return refused;
    rest.remove_prefix(end + 1);
  }
}

}  // namespace holdfast::cli
