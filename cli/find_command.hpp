#pragma once

#include <string>

namespace holdfast::cli {

/// Where a command is, found as execvp(3) finds it, but without its fallback to a shell.
struct found_command {
  std::string path;    ///< Empty when it cannot be run.
  bool exists{};       ///< A file is there, or may be, and cannot be run.
  std::string reason;  ///< Why `path` is empty.
};

found_command find_command(const std::string& name);

}  // namespace holdfast::cli
