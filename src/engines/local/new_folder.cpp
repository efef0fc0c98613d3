#include "engines/local/new_folder.hpp"

#include "io/file/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace holdfast::engines::local {

namespace {

result<void> give_to(gid_t group, const std::string& draft, const std::string& path) {
  auto fd = io::open_directory(draft);
  if (!fd) return fd.error();
  if (::fchown(fd->get(), static_cast<uid_t>(-1), group) != 0) {
    return io::file_failure("give to its group", path, errno, "you must be in that group");
  }
  if (::fchmod(fd->get(), 02770) != 0) return io::file_failure("set the mode of", path, errno);
  return {};
}

// Its name is given last.
result<void> make_for(gid_t group, const std::string& path) {
  const std::string parent = path.substr(0, path.rfind('/'));
  const auto parents = parent.empty() ? result<void>() : io::make_directories(parent, 0755);
  std::string draft = parent + "/.holdfast-XXXXXX";
  if (::mkdtemp(draft.data()) == nullptr) {
    const int code = errno;
    if (!parents) return parents;
    return io::file_failure("create the directory", path, code,
                            "create it, or choose a path where you may write");
  }
  // A umask that takes our own rights away would close it to us.
  (void)io::set_directory_mode(AT_FDCWD, draft.c_str(), 0700);
  auto done = give_to(group, draft, path);
  if (done && ::renameat2(AT_FDCWD, draft.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) != 0) {
    // Where the kernel cannot do it the store is refused for its file system a moment later.
    const int code = errno == EINVAL && ::rename(draft.c_str(), path.c_str()) == 0 ? 0 : errno;
    if (code != 0 && code != EEXIST) done = io::file_failure("create the directory", path, code);
  }
  (void)::rmdir(draft.c_str());
  return done;
}

}  // namespace

result<void> make_folder(const std::string& path, std::optional<gid_t> group) {
  struct stat s {};
  if (::lstat(path.c_str(), &s) == 0) return {};
  return group ? make_for(*group, path) : io::make_directories(path, 0700);
}

}  // namespace holdfast::engines::local
