#include "io/file/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>

namespace holdfast::io {

namespace {

// What helps against a limit is the same whatever was to be done.
std::string_view advice_about_limits(int code) {
  switch (code) {
    case EMFILE:
      return "this process has reached its limit of open files: close some, or raise it "
             "(ulimit -n)";
    case ENFILE:
      return "the machine has reached its limit of open files: end processes, or raise it "
             "(/proc/sys/fs/file-max)";
    case EFBIG:
      return "it would be larger than this process may write: raise the limit of the size of "
             "files (ulimit -f)";
    default:
      return {};
  }
}

std::string_view advice_about_directory(int code) {
  if (code == ENOENT) return "create it first";
  return code == EACCES || code == EPERM ? "it must be yours to read and write" : "";
}

}  // namespace

std::string_view advice_about_rights(int code) noexcept {
  switch (code) {
    case EROFS:
      return "it is mounted read-only: mount it for writing, or choose a path where you may write";
    case EACCES:
    case EPERM:
      return "its owner and mode have to let you, or choose a path where you may write";
    default:
      return {};
  }
}

error file_failure(std::string_view did, std::string_view path, int code, std::string_view advice) {
  std::string text = "cannot ";
  text.append(did).append(" ").append(path).append(": ");
  text += std::generic_category().message(code);
  if (const auto known = advice_about_limits(code); !known.empty()) advice = known;
  if (!advice.empty()) text.append("; ").append(advice);
  return advice_about_rights(code).empty()
             ? error(errc::unavailable, std::move(text))
             : error::for_operator(errc::unavailable, std::move(text));
}

result<file_facts> facts_of(int fd, std::string_view path) {
  struct stat s {};
  if (::fstat(fd, &s) != 0) return file_failure("look at", path, errno);
  return file_facts{s.st_dev,          s.st_ino, static_cast<std::uint64_t>(s.st_size),
                    s.st_uid,          s.st_gid, s.st_mode & 07777U,
                    S_ISREG(s.st_mode)};
}

namespace {

error cannot_make(const std::string& directory, int code) {
  return file_failure("create the directory", directory, code,
                      "create it, or choose a path where you may write");
}

}  // namespace

namespace {

/// A directory and its mode. Whoever may write where it stands can put another one, or a link, in
/// its place at any moment: it is looked at and changed by descriptor. By one that reads nothing,
/// for its mode may not allow that.
class new_directory {
 public:
  new_directory(int directory, const char* name) noexcept
      : fd_(::openat(directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {
    if (!fd_ || ::fstat(fd_.get(), &is_) != 0) code_ = errno;
  }
  int code() const noexcept { return code_; }  ///< Why it cannot be looked at; zero: it can.
  mode_t mode() const noexcept { return is_.st_mode & 07777U; }
  /// Of one of our own only, also where we might set any.
  int set_mode(mode_t mode) const noexcept {
    if (is_.st_uid != ::geteuid()) return EPERM;
    // The call that takes a descriptor does not take this kind.
    std::array<char, 48> link{"/proc/thread-self/fd/"};
    const auto end = static_cast<std::ptrdiff_t>(std::strlen(link.data()));
    std::to_chars(link.begin() + end, link.end() - 1, fd_.get());
    return ::chmod(link.data(), mode) == 0 ? 0 : errno;
  }

 private:
  unique_fd fd_;
  int code_{};
  struct stat is_ {};
};

}  // namespace

int set_directory_mode(int directory, const char* name, mode_t mode) noexcept {
  const new_directory made(directory, name);
  return made.code() != 0 ? made.code() : made.set_mode(mode);
}

int make_directory(const std::string& path, mode_t mode) noexcept {
  if (::mkdir(path.c_str(), mode) != 0) return errno;
  const new_directory made(AT_FDCWD, path.c_str());
  if (made.code() != 0) return made.code();
  // A umask may take our own rights away.
  const mode_t owners = mode & S_IRWXU;
  return (made.mode() & owners) == owners ? 0 : made.set_mode(made.mode() | owners);
}

result<void> make_directories(const std::string& path, mode_t mode) {
  // A parent that is there may be one where we cannot write; that it is missing shows one step
  // later.
  std::optional<error> refused;
  for (std::size_t end = path.find('/', 1); end != std::string::npos;
       end = path.find('/', end + 1)) {
    const std::string parent = path.substr(0, end);
    const int code = make_directory(parent, 0755);
    if (code == 0 || code == EEXIST) continue;
    if (code == ENOENT && refused) return *refused;
    if (code != EROFS && code != EACCES) return cannot_make(parent, code);
    if (!refused) refused = cannot_make(parent, code);
  }
  const int code = make_directory(path, mode);
  if (code == 0 || code == EEXIST) return {};
  return code == ENOENT && refused ? *refused : cannot_make(path, code);
}

result<unique_fd> open_directory(const std::string& path) {
  unique_fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd) return fd;
  if (errno == ELOOP || errno == ENOTDIR) {
    return error(errc::unavailable,
                 path + " is a symbolic link or not a directory; name the directory itself");
  }
  const int code = errno;
  return file_failure("open the directory", path, code, advice_about_directory(code));
}

result<std::string> path_of(int fd) {
  // Of the calling thread: /proc/self leads to the first one, which may have ended.
  const std::string link = "/proc/thread-self/fd/" + std::to_string(fd);
  std::string path(4096, '\0');
  const ssize_t size = ::readlink(link.c_str(), path.data(), path.size());
  if (size < 0) return file_failure("read", link, errno, "/proc has to be mounted");
  path.resize(static_cast<std::size_t>(size));
  return path;
}

int add_names_in(int directory, std::vector<std::string>& names) {
  unique_fd again(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!again) return errno;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::fdopendir(again.get()), ::closedir);
  if (!open) return errno;
  (void)again.release();  // closedir() closes it.
  for (;;) {
    errno = 0;
    const dirent* const one = ::readdir(open.get());
    if (one == nullptr && errno != 0) return errno;
    if (one == nullptr) break;
    const std::string_view name = one->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return 0;
}

result<std::vector<std::string>> names_in(int directory, std::string_view path) {
  std::vector<std::string> names;
  const int code = add_names_in(directory, names);
  if (code != 0) return file_failure("read the directory", path, code);
  return names;
}

namespace {

error not_a_plain_file(const std::string& path, bool is_link = false) {
  const char* what = is_link ? " is a symbolic link" : " is not a plain file";
  return error::for_operator(errc::unavailable, path + what + "; it was not touched");
}

/// `how`: O_RDONLY or O_RDWR.
result<std::optional<unique_fd>> open_plain(const place& where, const char* name, int how) {
  // O_NONBLOCK: opening a FIFO that somebody put there must not hang.
  const int flags = how | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  unique_fd fd(::openat(where.directory, name, flags));
  if (!fd && errno == ENOENT) return std::optional<unique_fd>{};
  if (!fd && (errno == ELOOP || errno == EISDIR || errno == ENXIO)) {
    const bool is_link = errno == ELOOP;
    return not_a_plain_file(where.at(name), is_link);
  }
  if (!fd) {
    const int code = errno;
    const bool writes = how != O_RDONLY;
    return file_failure(writes ? "open for writing" : "open", where.at(name), code,
                        writes ? advice_about_rights(code) : "");
  }
  const auto facts = facts_of(fd.get(), where.at(name));
  if (!facts) return facts.error();
  if (!facts->regular) return not_a_plain_file(where.at(name));
  return std::optional<unique_fd>(std::move(fd));
}

// A new file is its owner's alone until it has its mode, so that nobody else gets in before.
// Whoever was killed in between left one that its owner's next open completes.
constexpr mode_t mode_at_first = 0600;

result<void> set_mode(int fd, mode_t mode, const std::string& path) {
  if (::fchmod(fd, mode) != 0) return file_failure("set the mode of", path, errno);
  return {};
}

result<void> complete_mode(int fd, mode_t mode, const std::string& path) {
  const auto facts = facts_of(fd, path);
  if (!facts) return facts.error();
  // Any other mode is what somebody wants it to be.
  const bool is_unfinished = facts->mode == mode_at_first && mode != mode_at_first;
  if (!is_unfinished || facts->owner != ::geteuid()) return {};
  return set_mode(fd, mode, path);
}

}  // namespace

result<std::optional<unique_fd>> open_existing(const place& where, const char* name) {
  return open_plain(where, name, O_RDWR);
}

namespace {

enum class kept : std::uint8_t { as_usual, in_place };

result<unique_fd> open_or_create_kept(const place& where, const char* name, mode_t mode, kept how) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    auto there = open_existing(where, name);
    if (!there) return there.error();
    if (*there) {
      if (auto done = complete_mode((*there)->get(), mode, where.at(name)); !done) {
        return done.error();
      }
      return std::move(**there);
    }
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    unique_fd fd(::openat(where.directory, name, flags, mode_at_first));
    if (fd) {
      if (how == kept::in_place) overwrite_in_place(fd.get());
      if (auto done = set_mode(fd.get(), mode, where.at(name)); !done) return done.error();
      return fd;
    }
    const int code = errno;
    if (code != EEXIST) {
      return file_failure("create", where.at(name), code, advice_about_rights(code));
    }
  }
  return error(errc::unavailable, where.at(name) + " comes and goes while it is being opened");
}

}  // namespace

result<unique_fd> open_or_create(const place& where, const char* name, mode_t mode) {
  return open_or_create_kept(where, name, mode, kept::as_usual);
}

result<unique_fd> open_or_create_in_place(const place& where, const char* name, mode_t mode) {
  return open_or_create_kept(where, name, mode, kept::in_place);
}

void overwrite_in_place(int fd) noexcept {
  int flags = 0;
  if (::ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0) return;
  flags |= FS_NOCOW_FL;
  (void)::ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

result<std::optional<std::string>> read_text(const place& where, const char* name,
                                             std::size_t limit) {
  auto file = open_plain(where, name, O_RDONLY);
  if (!file) return file.error();
  if (!*file) return std::optional<std::string>{};
  std::string text(limit + 1, '\0');
  auto size = read_at((*file)->get(), std::as_writable_bytes(std::span(text)), 0, where.at(name));
  if (!size) return size.error();
  if (*size > limit) {
    return error(errc::damaged, where.at(name) + " is longer than " + std::to_string(limit) +
                                    " bytes: it is not what it should be");
  }
  text.resize(*size);
  return std::optional<std::string>(std::move(text));
}

result<void> replace_text(const place& where, const char* name, std::string_view text,
                          mode_t mode) {
  const std::string draft = std::string(name) + ".new";
  (void)::unlinkat(where.directory, draft.c_str(), 0);
  auto file = open_or_create(where, draft.c_str(), mode);
  if (!file) return file.error();
  const std::string path = where.at(draft);
  // Synced before it has the name, and the name after that: a power loss leaves the old text or all
  // of the new one.
  auto done = write_at(file->get(), std::as_bytes(std::span(text)), 0, path);
  if (done) done = sync_data(file->get(), path);
  if (!done) {
    (void)::unlinkat(where.directory, draft.c_str(), 0);
    return done;
  }
  if (::renameat(where.directory, draft.c_str(), where.directory, name) != 0) {
    return file_failure("rename", path, errno);
  }
  if (::fsync(where.directory) != 0) return file_failure("sync", where.path, errno);
  return {};
}

result<std::size_t> read_at(int fd, std::span<std::byte> into, std::uint64_t offset,
                            std::string_view path) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t n =
        ::pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (n == 0) break;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_failure("read", path, errno);
    done += static_cast<std::size_t>(n);
  }
  return done;
}

result<void> write_at(int fd, std::span<const std::byte> from, std::uint64_t offset,
                      std::string_view path) {
  std::size_t done = 0;
  while (done < from.size()) {
    const ssize_t n =
        ::pwrite(fd, from.data() + done, from.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_failure("write", path, errno);
    done += static_cast<std::size_t>(n);
  }
  return {};
}

result<void> sync_data(int fd, std::string_view path) {
  if (::fdatasync(fd) != 0) return file_failure("sync", path, errno);
  return {};
}

result<void> reserve(int fd, std::uint64_t size, std::string_view path) {
  int code = ::posix_fallocate(fd, 0, static_cast<off_t>(size));
  while (code == EINTR) code = ::posix_fallocate(fd, 0, static_cast<off_t>(size));
  if (code != 0) return file_failure("reserve space for", path, code, "free some space first");
  return {};
}

result<shared_memory> shared_memory::map(int fd, std::size_t size, std::string_view path) {
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) return file_failure("map", path, errno);
  shared_memory made;
  made.data_ = static_cast<std::byte*>(data);
  made.size_ = size;
  return made;
}

shared_memory::shared_memory(shared_memory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

shared_memory& shared_memory::operator=(shared_memory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

shared_memory::~shared_memory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace holdfast::io
