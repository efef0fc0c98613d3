#include "io/process/life.hpp"

#include "core/fnv1a.hpp"
#include "io/file/files.hpp"
#include "io/process/fork_mark.hpp"
#include "io/process/process_identity.hpp"
#include "io/thread/random.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

namespace holdfast::io {
namespace {

std::string file_of(const std::string& directory, const session_id& id) {
  return directory + "/" + id.str();
}

error failure(const char* did, const std::string& path, int code) {
  std::string text = std::string("cannot ") + did + " the life lock " + path + ": " +
                     std::strerror(code) +
                     "; without it nobody could tell whether this session lives";
  if (const auto help = advice_about_rights(code); !help.empty()) text.append("; ").append(help);
  return {errc::unavailable, std::move(text)};
}

struct flock whole_file(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

// A lock is seen by its own kernel alone, where the inode of an open file is that of no other. A
// copy of a whole disk has the same inodes on the same device, but its kernel is of another boot. A
// copy of a file was born later, which counts where kernels were given one boot id (a container may
// be). An empty place: nothing can be told, for there is no boot id.
core::life_place place_of(const struct statx& s) {
  const std::string_view boot = identity_boot_id();
  if (boot.empty()) return {};
  const bool knows_birth = (s.stx_mask & STATX_BTIME) != 0;
  const std::int64_t parts[] = {s.stx_dev_major, s.stx_dev_minor,
                                knows_birth ? s.stx_btime.tv_sec : 0,
                                knows_birth ? s.stx_btime.tv_nsec : 0};
  std::uint64_t device = core::fnv1a(boot);
  for (const std::int64_t part : parts) device = core::fnv1a(" " + std::to_string(part), device);
  return {device, s.stx_ino};
}

bool read_facts(int fd, struct statx& s) noexcept {
  return ::statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &s) == 0;
}

// Everything that can fail between creating the file and owning it; zero or errno.
int lock_new_file(int fd, bool group_writable, struct statx& s) {
  const mode_t mode = group_writable ? 0660 : 0600;
  if (::fchmod(fd, mode) != 0) return errno;  // Whatever the umask is.
  struct flock lock = whole_file(F_WRLCK);
  if (::fcntl(fd, F_OFD_SETLK, &lock) != 0) return errno;
  return read_facts(fd, s) ? 0 : errno;
}

// A file is locked before it has its name, so that a named file that is free always means a dead
// owner. Until then it has this one; free, it may be of somebody who is about to lock it.
constexpr const char* unnamed_suffix = ".new";

// A file that was swept before its owner had locked it is made again.
constexpr int hold_attempts = 8;

bool is_unnamed(const std::string& name) {
  const std::string_view suffix = unnamed_suffix;
  return name.ends_with(suffix) && session_id::parse(name.substr(0, name.size() - suffix.size()));
}

/// One file: which it is, and whether somebody holds it.
struct sight {
  core::life_place where{};
  bool empty{};
  life is{life::unknown};
};

sight look_at(const std::string& path) noexcept {
  sight seen;
  // F_OFD_GETLK needs no write permission, and closing this descriptor frees nobody's lock: both
  // are properties of open file description locks, not of POSIX record locks (fcntl(2)).
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return seen;
  struct statx s {};
  struct flock lock = whole_file(F_WRLCK);
  if (read_facts(fd, s) && S_ISREG(s.stx_mode) && ::fcntl(fd, F_OFD_GETLK, &lock) == 0) {
    seen.where = place_of(s);
    seen.empty = s.stx_size == 0;
    seen.is = lock.l_type == F_UNLCK ? life::dead : life::alive;
  }
  ::close(fd);
  return seen;
}

// Of an owner who was killed before the file had its name: nothing else would ever remove it.
void sweep_unnamed(const std::string& path) noexcept {
  if (look_at(path).is == life::dead) ::unlink(path.c_str());
}

// Names of life locks. Where there are more than `most`, each has the same chance: the living of a
// large store must not hide the dead behind them.
std::vector<std::string> some_names(const std::string& directory, std::size_t most) {
  std::vector<std::string> names;
  std::error_code failed;
  std::uint64_t seen = 0;
  // A range over it would throw where the disk fails in the middle.
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator at(directory, failed); !failed && at != end;
       at.increment(failed)) {
    std::string name = at->path().filename().string();
    if (!session_id::parse(name) && !is_unnamed(name)) continue;
    ++seen;
    if (names.size() < most) {
      names.push_back(std::move(name));
    } else if (const std::uint64_t one = random_bits() % seen; one < most) {
      names[one] = std::move(name);
    }
  }
  return names;
}

}  // namespace

result<life_lock> life_lock::hold(const std::string& directory, const session_id& id,
                                  bool group_writable) {
  life_lock made;
  made.path_ = file_of(directory, id);
  int code = ENOENT;
  for (int i = 0; i < hold_attempts && code == ENOENT; ++i) {
    const std::string unnamed = made.path_ + unnamed_suffix;
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const int fd = ::open(unnamed.c_str(), flags, 0600);
    if (fd < 0) return failure("create", made.path_, errno);
    struct statx s {};
    code = lock_new_file(fd, group_writable, s);
    if (code == 0 && ::link(unnamed.c_str(), made.path_.c_str()) != 0) code = errno;
    ::unlink(unnamed.c_str());
    made.fd_ = fd;
    made.place_ = place_of(s);
    if (code != 0) made.forget();
  }
  if (code != 0) return failure("take", made.path_, code);
  made.generation_ = process_generation();
  return made;
}

life_lock::life_lock(life_lock&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      generation_(other.generation_),
      path_(std::move(other.path_)),
      place_(other.place_) {}

life_lock& life_lock::operator=(life_lock&& other) noexcept {
  if (this != &other) {
    life_lock old(std::move(*this));
    fd_ = std::exchange(other.fd_, -1);
    generation_ = other.generation_;
    path_ = std::move(other.path_);
    place_ = other.place_;
  }
  return *this;
}

life_lock::~life_lock() {
  if (fd_ < 0) return;
  // A forked child shares the description: unlinking would take the file from under its parent.
  if (generation_ == process_generation()) ::unlink(path_.c_str());
  ::close(fd_);
}

void life_lock::forget() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

life probe_life(const std::string& directory, const session_id& id,
                const core::life_place& place) noexcept {
  if (place.inode == 0) return life::unknown;
  const sight seen = look_at(file_of(directory, id));
  // Another file by that name, a copy say, proves nothing, whether it is free or not.
  return seen.where == place ? seen.is : life::unknown;
}

bool is_life_younger(const std::string& directory, const session_id& id, duration time) noexcept {
  struct stat s {};
  if (::lstat(file_of(directory, id).c_str(), &s) != 0) return true;
  const auto made =
      std::chrono::seconds{s.st_mtim.tv_sec} + std::chrono::nanoseconds{s.st_mtim.tv_nsec};
  return wall_now().time_since_epoch() - made < time;
}

void remove_life(const std::string& directory, const session_id& id) noexcept {
  ::unlink(file_of(directory, id).c_str());
}

std::vector<free_life> free_lives(const std::string& directory, std::size_t most) {
  std::vector<free_life> found;
  for (const std::string& name : some_names(directory, most)) {
    const std::string path = directory + "/" + name;
    const auto id = session_id::parse(name);
    if (!id) {
      sweep_unnamed(path);
      continue;
    }
    const sight seen = look_at(path);
    // Whoever finds a free one removes it, so it has to be a life lock and nothing else.
    if (seen.where.inode == 0 || !seen.empty) continue;
    if (seen.is == life::dead) found.push_back({*id, seen.where});
  }
  return found;
}

}  // namespace holdfast::io
