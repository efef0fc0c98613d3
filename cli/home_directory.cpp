#include "cli/home_directory.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace holdfast::cli {

std::string home_directory() {
  if (const char* set = std::getenv("HOME"); set != nullptr && *set == '/') return set;
  passwd entry{};
  passwd* found{};
  std::array<char, 4096> text{};
  const int failed = ::getpwuid_r(::geteuid(), &entry, text.data(), text.size(), &found);
  const std::string home = failed == 0 && found != nullptr ? found->pw_dir : "";
  return home.starts_with('/') ? home : "";
}

}  // namespace holdfast::cli
