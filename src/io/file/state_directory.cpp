#include "io/file/state_directory.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace holdfast::io {

namespace {

// The specification says that a relative path in such a variable is to be ignored.
std::string absolute(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && value[0] == '/' ? value : "";
}

std::string home() {
  if (auto set = absolute("HOME"); !set.empty()) return set;
  passwd entry{};
  passwd* found{};
  std::array<char, 4096> text{};
  const int failed = ::getpwuid_r(::geteuid(), &entry, text.data(), text.size(), &found);
  return failed == 0 && found != nullptr ? found->pw_dir : "";
}

result<std::string> users_own(const std::string& name) {
  if (const auto state = absolute("XDG_STATE_HOME"); !state.empty()) return state + "/" + name;
  if (const auto own = home(); !own.empty()) return own + "/.local/state/" + name;
  return error(errc::invalid_argument,
               "there is no default place for the store: neither XDG_STATE_HOME nor HOME is set; "
               "name one with local:PATH");
}

}  // namespace

result<std::string> default_store_directory() {
  if (::geteuid() == 0) return std::string("/var/lib/holdfast");
  return users_own("holdfast");
}

result<std::string> notes_directory() {
  if (::geteuid() == 0 && absolute("XDG_STATE_HOME").empty()) {
    return std::string("/var/lib/holdfast-state");
  }
  return users_own("holdfast-state");
}

}  // namespace holdfast::io
