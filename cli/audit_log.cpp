#include "cli/audit_log.hpp"

#include "cli/home_directory.hpp"
#include "cli/json_output.hpp"

#include <holdfast/clock.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace holdfast::cli {

using namespace std::chrono_literals;

namespace {

/// Others append for as long as the disk takes, unless they were stopped in the middle of it. So
/// long may who reads a pipe take to come, and to read: between two steps nothing may hang.
constexpr duration patience = 2s;

error failed(const char* what, const std::string& path) {
  return {errc::unavailable, std::string("cannot ") + what + " the audit log " + path + ": " +
                                 std::generic_category().message(errno) +
                                 "; choose another with --audit FILE"};
}

/// Locked against others who append, until it is destroyed.
class append_lock {
 public:
  explicit append_lock(int fd) noexcept : fd_(fd) {}
  append_lock(const append_lock&) = delete;
  append_lock& operator=(const append_lock&) = delete;
  ~append_lock() { ::flock(fd_, LOCK_UN); }

  /// False: somebody has had it for long. True also where the file system has no such locks.
  bool take() const {
    for (const time_point end = clock::now() + patience; ::flock(fd_, LOCK_EX | LOCK_NB) != 0;) {
      if (errno != EINTR && errno != EWOULDBLOCK) return true;
      if (clock::now() > end) return false;
      ::poll(nullptr, 0, 5);
    }
    return true;
  }

 private:
  int fd_;
};

/// False where a line was cut short. That is not seen in a file that may only be written.
bool ends_with_a_line(int fd, off_t size) {
  char last{'\n'};
  return size == 0 || ::pread(fd, &last, 1, size - 1) != 1 || last == '\n';
}

/// A pipe that nobody reads any more is an error like others, and ends no process half-way.
class without_sigpipe {
 public:
  without_sigpipe() noexcept {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  without_sigpipe(const without_sigpipe&) = delete;
  without_sigpipe& operator=(const without_sigpipe&) = delete;
  ~without_sigpipe() {
    const int failed = errno;
    const timespec at_once{};
    if (sigismember(&before_, SIGPIPE) == 0) ::sigtimedwait(&pipe_, nullptr, &at_once);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = failed;
  }

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

bool write_all(int fd, std::string_view text) {
  const without_sigpipe here;
  const time_point end = clock::now() + patience;
  while (!text.empty()) {
    const ssize_t done = ::write(fd, text.data(), text.size());
    if (done < 0 && errno == EAGAIN && clock::now() < end) {
      ::poll(nullptr, 0, 5);
      continue;
    }
    if (done < 0 && errno != EINTR) return false;
    text.remove_prefix(done < 0 ? 0 : static_cast<std::size_t>(done));
  }
  return true;
}

/// A pipe that nobody reads cannot be opened; one that waits for a reader would hang for ever.
int open_pipe(const std::string& path, int flags) {
  const time_point end = clock::now() + patience;
  while (true) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | flags);
    if (fd >= 0 || errno != ENXIO || clock::now() > end) return fd;
    ::poll(nullptr, 0, 5);
  }
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// The name of a new file has to be on the disk, too; but who may not read the directory cannot.
bool sync_directory_of(const std::string& path) {
  const std::string above = directory_of(path);
  const descriptor directory(::open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return errno == EACCES;
  return ::fsync(directory.get()) == 0 || errno == EINVAL;
}

bool is_there(const std::string& directory) { return ::access(directory.c_str(), F_OK) == 0; }

/// Those to a new directory that a umask may have taken from its owner. Whoever may write where it
/// stands can put another, or a link, in its place: it is changed by a descriptor, of a kind that
/// needs no right to it.
bool give_owners_rights(const std::string& directory) {
  const descriptor made(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat is {};
  if (!made || ::fstat(made.get(), &is) != 0) return false;
  if ((is.st_mode & S_IRWXU) == S_IRWXU) return true;
  if (is.st_uid != ::geteuid()) {
    errno = EPERM;
    return false;
  }
  // fchmod() does not take this kind.
  const std::string link = "/proc/thread-self/fd/" + std::to_string(made.get());
  return ::chmod(link.c_str(), S_IRWXU) == 0;
}

bool make_directories_of(const std::string& path) {
  const std::string above = directory_of(path);
  if (is_there(above)) return true;
  if (errno != ENOENT || !make_directories_of(above)) return false;
  if (::mkdir(above.c_str(), S_IRWXU) != 0) return errno == EEXIST;
  return give_owners_rights(above) && sync_directory_of(above);
}

/// Those to a new file that a umask may have taken from its owner.
bool give_owners_rights(int file) {
  constexpr mode_t rights = S_IRUSR | S_IWUSR;
  struct stat made {};
  if (::fstat(file, &made) != 0) return false;
  return (made.st_mode & rights) == rights || ::fchmod(file, rights) == 0;
}

/// The rights of one that is there are as somebody wants them to be.
descriptor open_file(const std::string& path, int flags) {
  descriptor file;
  // What turns a log over may take the name away in between.
  for (int attempt = 0; attempt < 8; ++attempt) {
    file.reset(
        ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | flags, S_IRUSR | S_IWUSR));
    if (file && !give_owners_rights(file.get())) file.reset();
    if (file || errno != EEXIST) break;
    file.reset(::open(path.c_str(), O_RDWR | O_CLOEXEC | flags));
    if (!file && errno == EACCES) file.reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags));
    if (file || errno != ENOENT) break;
  }
  return file;
}

/// What open() would find wrong; 0: nothing.
int obstacle_at(const std::string& path, audit_log::directories missing) {
  struct stat there {};
  std::string needed = path;
  int rights = W_OK;
  if (::lstat(path.c_str(), &there) == 0) {
    if (S_ISLNK(there.st_mode)) return ELOOP;
    if (S_ISDIR(there.st_mode)) return EISDIR;
  } else {
    if (errno != ENOENT) return errno;
    needed = directory_of(path);
    if (missing == audit_log::directories::make) {
      while (!is_there(needed) && errno == ENOENT && needed.size() > 1) {
        needed = directory_of(needed);
      }
    }
    needed += "/.";
    rights |= X_OK;
  }
  return ::faccessat(AT_FDCWD, needed.c_str(), rights, AT_EACCESS) == 0 ? 0 : errno;
}

error no_usual_place() {
  return {errc::unavailable,
          "there is no usual place for the audit log: neither XDG_STATE_HOME nor HOME is set; name "
          "one with --audit FILE"};
}

}  // namespace

std::string audit_log::usual_path() {
  if (::geteuid() == 0) return "/var/log/holdfast-audit.log";
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::string(state) + "/holdfast-audit.log";
  const std::string home = home_directory();
  return home.empty() ? "" : home + "/.local/state/holdfast-audit.log";
}

result<void> audit_log::look_at(const std::string& path, directories missing) {
  if (path.empty()) return no_usual_place();
  errno = obstacle_at(path, missing);
  if (errno != 0) return failed("open", path);
  return {};
}

result<audit_log> audit_log::open(const std::string& path, directories missing) {
  if (path.empty()) return no_usual_place();
  if (missing == directories::make && !make_directories_of(path)) {
    return failed("make the directory of", path);
  }
  constexpr int flags = O_APPEND | O_NOFOLLOW;
  struct stat there {};
  // A pipe that was opened to be read, too, would take the lines with nobody at its other end.
  const bool is_file = ::lstat(path.c_str(), &there) != 0 || S_ISREG(there.st_mode);
  descriptor file = is_file ? open_file(path, flags) : descriptor(open_pipe(path, flags));
  if (!file && errno == ENXIO && S_ISFIFO(there.st_mode)) {
    return error(errc::unavailable, "the audit log " + path +
                                        " is a pipe that nobody reads; start its reader first, or "
                                        "choose another with --audit FILE");
  }
  if (!file) return failed("open", path);
  return audit_log(std::move(file), path);
}

result<void> audit_log::append(nlohmann::ordered_json entry) {
  entry["time"] =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::string line = json_line(entry);
  struct stat now {};
  const append_lock alone(file_.get());
  if (!alone.take()) {
    return error(errc::unavailable, "another process has been appending to the audit log " + path_ +
                                        " for 2s; it is probably stopped: continue or end it");
  }
  if (::fstat(file_.get(), &now) != 0) return failed("look at", path_);
  const bool is_file = S_ISREG(now.st_mode);
  // What a full disk cut short stays a line of its own.
  if (is_file && !ends_with_a_line(file_.get(), now.st_size)) line.insert(0, 1, '\n');
  if (!write_all(file_.get(), line)) {
    if (errno != EAGAIN) return failed("append to", path_);
    return error(errc::unavailable, "who reads the audit log " + path_ +
                                        " has taken nothing for 2s; continue or end that program");
  }
  if (::fdatasync(file_.get()) != 0 && errno != EINVAL) return failed("sync", path_);
  if (is_file && now.st_size == 0 && !sync_directory_of(path_)) {
    return failed("sync the directory of", path_);
  }
  return {};
}

}  // namespace holdfast::cli
