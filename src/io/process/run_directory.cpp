#include "io/process/run_directory.hpp"

#include "core/fnv1a.hpp"
#include "core/hexadecimal.hpp"
#include "io/file/file_system.hpp"
#include "io/file/files.hpp"
#include "io/process/process_identity.hpp"

#include <holdfast/lock_name.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace holdfast::io {

namespace {

result<std::string> base_directory() {
  const char* given = std::getenv("HOLDFAST_RUN_DIRECTORY");
  if (given != nullptr && given[0] == '/') return std::string(given);
  if (given != nullptr && given[0] != '\0') {
    return error(errc::invalid_argument,
                 "HOLDFAST_RUN_DIRECTORY is " + lock_name(given).printable() +
                     ", which would be another directory in every working directory; give an "
                     "absolute path");
  }
  if (::geteuid() == 0) return std::string("/run/holdfast");
  const char* own = std::getenv("XDG_RUNTIME_DIR");
  struct stat s {};
  if (own != nullptr && own[0] == '/' && ::stat(own, &s) == 0) {
    return std::string(own) + "/holdfast";
  }
  return "/tmp/holdfast-" + std::to_string(::geteuid());
}

// Whoever may write there could make a living session look dead. So would every file system on
// which another kernel does not see its lock.
result<void> make_private(const std::string& path) {
  if (auto made = make_directories(path, 0700); !made) return made;
  const auto directory = open_directory(path);
  if (!directory) return directory.error();
  if (auto local = expect_local(directory->get(), path); !local) return local;
  const auto facts = facts_of(directory->get(), path);
  if (!facts) return facts.error();
  if (facts->owner == ::geteuid() && (facts->mode & 0022U) == 0) return {};
  return error(errc::unavailable,
               path + " belongs to somebody else, or others may write to it; remove it");
}

}  // namespace

result<std::string> life_directory_of(const std::string& store) {
  if (boot_id().empty()) {
    return error(errc::unavailable,
                 "/proc/sys/kernel/random/boot_id cannot be read, without which a life lock could "
                 "be a copy from another machine; mount /proc");
  }
  const auto base = base_directory();
  if (!base) return base.error();
  if (auto made = make_private(*base); !made) return made.error();
  const std::string path = *base + "/life-" + core::hexadecimal(core::fnv1a(store));
  if (auto made = make_private(path); !made) return made.error();
  return path;
}

result<bool> make_life_directory_again(const std::string& directory) {
  struct stat s {};
  if (::lstat(directory.c_str(), &s) == 0 || errno != ENOENT) return false;
  const std::string base = directory.substr(0, directory.rfind('/'));
  for (const std::string& path : {base, directory}) {
    if (auto made = make_private(path); !made) return made.error();
  }
  return true;
}

}  // namespace holdfast::io
