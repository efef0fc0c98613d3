#include "engines/local/directory.hpp"

#include "engines/local/groups.hpp"
#include "engines/local/new_folder.hpp"
#include "engines/local/opener_note.hpp"
#include "io/file/file_system.hpp"
#include "io/process/process_identity.hpp"
#include "io/thread/random.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>

namespace holdfast::engines::local {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view magic = "holdfast local store";
constexpr std::int64_t setup_byte = 0;
constexpr std::int64_t open_byte = 1;
constexpr std::int64_t first_copy_byte = std::int64_t{1} << 32;
constexpr duration setup_limit = 5s;
// After which who got in has left its note.
constexpr duration note_limit = 100ms;

std::string without_trailing_slashes(std::string path) {
  // O_NOFOLLOW does not look at a link that is followed by a slash.
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

bool is_there(const std::string& path) {
  struct stat s {};
  return ::lstat(path.c_str(), &s) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

error no_store(const std::string& path) {
  const std::string begin = "there is no store at " + path;
  const std::string why = directory::obstacle(path);
  if (why.empty()) return {errc::unavailable, begin + "; `holdfast run` creates it"};
  return {errc::unavailable, begin + ", and `holdfast run` could not create it: " + why +
                                 "; choose a path where you may write"};
}

error not_local(const std::string& path, const io::file_system& fs) {
  return {errc::unsupported, path + " is on " + fs.name +
                                 ", where file locks or shared memory may not be this host's "
                                 "alone; put the store on ext4, xfs, btrfs, tmpfs or an overlay on "
                                 "them"};
}

// A folder with nothing in it is not a store yet.
bool is_empty(const std::string& path) {
  const auto fd = io::open_directory(path);
  const auto names = fd ? io::names_in(fd->get(), path) : fd.error();
  return names && names->empty();
}

// As the kernel knows it, when that leads there: it names what another mount namespace has (asked
// for below /proc/PID/root) as it is called there.
result<std::string> path_to(int fd, const std::string& asked) {
  auto real = io::path_of(fd);
  if (!real) return real;
  const auto mine = io::facts_of(fd, asked);
  if (!mine) return mine.error();
  const auto there = io::open_directory(*real);
  const auto facts = there ? io::facts_of(there->get(), *real) : there.error();
  const bool same = facts && facts->device == mine->device && facts->inode == mine->inode;
  return same ? std::move(*real) : asked;
}

/// Who may not read what is above was given the directory by somebody else.
result<void> sync_above(const io::place& where) {
  const io::unique_fd above(::openat(where.directory, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if ((!above && errno == EACCES) || (above && ::fsync(above.get()) == 0)) return {};
  return io::file_failure("sync the directory above", where.path, errno);
}

error damaged(std::string text) { return {errc::damaged, std::move(text)}; }

}  // namespace

std::string_view format_text() noexcept { return "holdfast local store\nversion 1\n"; }

result<bool> anybody_lives(const io::place& life) {
  auto names = io::names_in(life.directory, life.path);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    // Whose life has no name yet has the store open as well; the file may be closed to us.
    if (!session_id::parse(name)) continue;
    auto file = io::open_existing(life, name.c_str());
    if (!file) return file.error();
    if (*file && !io::is_unlocked((*file)->get())) return true;
  }
  return false;
}

result<directory> directory::open(const request& asked) {
  std::optional<gid_t> group;
  if (!asked.group.empty()) {
    auto found = group_named(asked.group);
    if (!found) return found.error();
    group = *found;
  }
  directory d;
  d.group_ = asked.group;
  const std::string path = without_trailing_slashes(asked.path);
  d.asked_ = path;
  d.what_ = asked.what;
  if (asked.what == missing::create) {
    if (auto there = make_folder(path, group); !there) return there.error();
  } else if (!is_there(path)) {
    return no_store(path);
  }
  auto fd = io::open_directory(path);
  if (!fd) return why_closed(fd.error(), path, asked.group, group);
  d.fd_ = std::move(*fd);
  auto real = path_to(d.fd_.get(), path);
  if (!real) return real.error();
  d.where_ = {d.fd_.get(), std::move(*real)};

  auto done = d.check_access(group);
  if (!done && done.error() == errc::unavailable) {
    // Whoever named a folder with other things in it must not be told to change its mode.
    if (const auto found = d.is_store(); !found && found.error() == errc::damaged) {
      return found.error();
    }
  }
  // Before anything is made there, for a folder that is not ours stays as it is; and once more with
  // the lock, which lets one process alone make the store.
  if (done) done = d.check_format(false);
  if (done) done = d.lock_setup();
  if (done) done = d.check_format(true);
  if (done) done = d.make_life_directory();
  if (done) done = d.read_identity();
  if (done) done = d.enter_boot();
  if (!done) return done.error();
  return d;
}

bool directory::is_displaced() const {
  const auto there = io::open_directory(asked_);
  if (!there) return false;  // Nobody can open a store there either.
  const auto facts = io::facts_of(there->get(), asked_);
  return facts && (facts->device != facts_.device || facts->inode != facts_.inode);
}

bool directory::exists(const std::string& path) { return is_there(path) && !is_empty(path); }

std::string directory::obstacle(const std::string& path) {
  std::string there = without_trailing_slashes(path);
  while (there.size() > 1 && !is_there(there)) {
    there.resize(std::max<std::size_t>(there.rfind('/'), 1));
  }
  const io::unique_fd fd(::open(there.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return io::file_failure("create anything in", there, errno).message();
  const auto fs = io::file_system_of(fd.get(), there);
  if (!fs) return fs.error().message();
  if (!fs->local) return not_local(there, *fs).message();
  if (::faccessat(AT_FDCWD, there.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
  return io::file_failure("create anything in", there, errno).message();
}

result<void> directory::check_access(std::optional<gid_t> group) {
  const std::string& path = where_.path;
  auto fs = io::file_system_of(fd_.get(), path);
  if (!fs) return fs.error();
  if (!fs->local) return not_local(path, *fs);
  auto facts = io::facts_of(fd_.get(), path);
  if (!facts) return facts.error();
  facts_ = *facts;
  return access().check(group);
}

result<bool> directory::has_format() const {
  auto text = io::read_text(where_, file::format, 256);
  if (!text) return text.error();
  if (!*text) return false;
  if (**text == format_text()) return true;
  if ((*text)->starts_with(magic)) {
    return damaged(where_.path + " has another version of the format than this program's (1); " +
                   "it was not touched. Use the program that made it, or another directory");
  }
  return damaged(where_.at(file::format) + " is not of a holdfast store; it was not touched");
}

result<bool> directory::is_store() const {
  auto found = has_format();
  if (!found || *found) return found;
  auto names = io::names_in(fd_.get(), where_.path);
  if (!names) return names.error();
  // Before we have the lock somebody else may be making the store: the format comes first in it.
  found = has_format();
  if (!found || *found) return found;
  for (const std::string& name : *names) {
    if (name == file::lock || name == std::string(file::format) + ".new") continue;
    return damaged(where_.path + " is not empty (it has " + name + ") and is not a holdfast " +
                   "store; it was not touched. Choose another directory" + access().folder_below());
  }
  return false;
}

result<void> directory::check_format(bool may_create) {
  const auto found = is_store();
  if (!found) return found.error();
  if (*found) return {};
  if (what_ == missing::refuse) return no_store(where_.path);
  if (!may_create) return {};
  // Whoever made the directory may have ended before its name was on the disk.
  if (auto done = sync_above(where_); !done) return done;
  return io::replace_text(where_, file::format, format_text(), file_mode());
}

result<void> directory::lock_setup() {
  auto file = io::open_or_create(where_, file::lock, file_mode());
  if (!file) return file.error();
  lock_ = std::move(*file);
  auto got = io::lock_byte(lock_.get(), setup_byte, io::share::alone, note_limit);
  if (got && !*got) {
    const std::string first = read_note(lock_.get());
    got = io::lock_byte(lock_.get(), setup_byte, io::share::alone, setup_limit - note_limit);
    if (got && !*got) return kept_out(first, read_note(lock_.get()), where_.path);
  }
  if (!got) return got.error();
  setup_ = io::locked_byte(lock_.get(), setup_byte);
  leave_note(lock_.get());
  return {};
}

result<void> directory::keep_other_copies_out() {
  // Each copy has a registry of its own, and the kernel's record locks know processes only: on
  // `slots` two copies would not exclude each other. Locks of this kind do.
  const auto byte = first_copy_byte + static_cast<std::int64_t>(io::process_number() >> 2U);
  auto got = io::try_lock_byte(lock_.get(), byte, io::share::alone);
  if (!got) return got.error();
  if (!*got) {
    return error(errc::invalid_argument,
                 "another copy of holdfast in this process has " + where_.path +
                     " open, and two would corrupt it; link one copy for the whole process (the "
                     "shared library), or close the store there first");
  }
  only_copy_ = io::locked_byte(lock_.get(), byte);
  return {};
}

result<void> directory::read_identity() {
  auto text = io::read_text(where_, file::identity, 64);
  if (!text) return text.error();
  if (!*text) {
    identity_ = io::random_session_id().str();
    return io::replace_text(where_, file::identity, identity_ + "\n", file_mode());
  }
  const auto id = session_id::parse(std::string_view(**text).substr(0, (*text)->find('\n')));
  if (!id || id->str() + "\n" != **text) {
    return damaged(where_.at(file::identity) +
                   " does not have the store's identity, to which storage that refuses stale "
                   "tokens is bound; restore it, or remove it for a new one, which such storage "
                   "refuses: see docs/fence.md, \"Moving to another store\"");
  }
  identity_ = id->str();
  return {};
}

result<void> directory::enter_boot() {
  boot_ = io::boot_id();
  if (boot_.empty()) {
    return error(errc::unavailable, "cannot read the kernel's boot id; /proc has to be mounted");
  }
  auto stored = io::read_text(where_, file::boot, 64);
  if (!stored) return stored.error();
  fresh_ = !*stored || **stored != boot_;
  if (fresh_) return discard_old_boot(stored->has_value());
  auto got = io::try_lock_byte(lock_.get(), open_byte, io::share::together);
  if (!got) return got.error();
  if (!*got) {
    return error(errc::unavailable, where_.path + " is locked by somebody else; try again");
  }
  opened_ = io::locked_byte(lock_.get(), open_byte);
  return {};
}

result<void> directory::discard_old_boot(bool was_named) {
  auto alone = io::try_lock_byte(lock_.get(), open_byte, io::share::alone);
  if (!alone) return alone.error();
  if (*alone) opened_ = io::locked_byte(lock_.get(), open_byte);
  const std::string life_path = where_.at(file::life);
  const io::unique_fd life(
      ::openat(fd_.get(), file::life, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!life) return io::file_failure("open", life_path, errno);
  const io::place lives{life.get(), life_path};
  auto alive = anybody_lives(lives);
  if (!alive) return alive.error();
  if ((!*alone || *alive) && !was_named) {
    return error(errc::damaged, where_.at(file::boot) +
                                    " is missing, and processes use the store; end every one of "
                                    "them and try again");
  }
  if (!*alone || *alive) {
    return error(
        errc::unavailable,
        where_.path +
            " is in use under another boot id: a container with a boot id of "
            "its own shares it. Give all of them the host's /proc/sys/kernel/random/boot_id");
  }
  (void)::unlinkat(fd_.get(), file::boot, 0);
  auto names = io::names_in(life.get(), life_path);
  if (!names) return names.error();
  // Of sessions that the reboot has ended; their records go with the data.
  for (const std::string& name : *names) (void)::unlinkat(life.get(), name.c_str(), 0);
  for (const char* name : {file::data, file::shared}) {
    if (::unlinkat(fd_.get(), name, 0) != 0 && errno != ENOENT) {
      return io::file_failure("remove", where_.at(name), errno);
    }
  }
  return {};
}

result<void> directory::make_life_directory() {
  const std::string path = where_.at(file::life);
  const mode_t mode = grouped() ? 02770 : 0700;
  if (::mkdirat(fd_.get(), file::life, 0700) != 0) {
    if (errno != EEXIST) return io::file_failure("create the directory", path, errno);
    auto there = io::open_directory(path);
    if (!there) return there.error();
    const auto facts = io::facts_of(there->get(), path);
    if (!facts) return facts.error();
    // Whoever made it may have been killed before it was the group's. Any other mode is what
    // somebody wants it to be.
    const bool is_unfinished = grouped() && (facts->mode & 0777U) == 0700;
    if (!is_unfinished || facts->owner != ::geteuid()) return {};
  }
  const int code = io::set_directory_mode(fd_.get(), file::life, mode);
  return code == 0 ? result<void>() : io::file_failure("set the mode of", path, code);
}

result<void> directory::finish_setup() {
  if (fresh_) {
    if (auto done = io::replace_text(where_, file::boot, boot_, file_mode()); !done) return done;
    // From alone to together nobody can come between.
    auto shared = io::try_lock_byte(lock_.get(), open_byte, io::share::together);
    if (!shared) return shared.error();
  }
  setup_ = {};
  return {};
}

}  // namespace holdfast::engines::local
