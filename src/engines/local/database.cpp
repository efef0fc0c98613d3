#include "engines/local/database.hpp"

#include "engines/local/directory.hpp"
#include "engines/local/pages.hpp"
#include "io/file/file_system.hpp"
#include "io/file/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace holdfast::engines::local {
namespace {

// The unnamed table has this handle in every environment; asking for it each time would only cost.
constexpr MDB_dbi table = 1;

MDB_val value_of(bytes data) { return {data.size(), const_cast<std::byte*>(data.data())}; }

bool is_damage(int rc) {
  return rc == MDB_CORRUPTED || rc == MDB_PAGE_NOTFOUND || rc == MDB_INVALID ||
         rc == MDB_VERSION_MISMATCH;
}

// How many writes may go by until free pages are counted again; each needs some dozens at most.
constexpr std::uint64_t writes_between_counts = 16;

error damage(const std::string& path, const std::string& why) {
  return {errc::damaged, damage_text(path, why)};
}

// LMDB opens its file so that every program that this process starts has it, too, for writing.
int close_on_exec(MDB_env* env) {
  int fd = -1;
  const int rc = ::mdb_env_get_fd(env, &fd);
  if (rc != 0) return rc;
  return ::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? 0 : errno;
}

// Sets how keys compare; once per environment.
int prepare_table(MDB_env* env) {
  MDB_txn* txn = nullptr;
  MDB_dbi handle = 0;
  int rc = ::mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn);
  if (rc != 0) return rc;
  rc = ::mdb_dbi_open(txn, nullptr, 0, &handle);
  ::mdb_txn_abort(txn);
  return rc == 0 && handle != table ? MDB_INCOMPATIBLE : rc;
}

}  // namespace

// The identity and the token floor are in files of their own, and outlive the data as they do at a
// reboot.
std::string how_to_begin_anew(const std::string& path) {
  return "; end every process that uses the store, then remove " +
         path.substr(0, path.rfind('/') + 1) + std::string(file::boot) +
         ": what is held is forgotten, and tokens go on. Another directory would be another store, "
         "which fenced resources refuse (docs/fence.md, \"Moving to another store\")";
}

std::string damage_text(const std::string& path, const std::string& why) {
  return path + " is damaged: " + why + how_to_begin_anew(path);
}

std::string unreadable_text(const std::string& path, const char* what) {
  return damage_text(path, std::string("it has ") + what + " that cannot be read");
}

result<database::environment_ptr> database::opened(int fd, const std::string& path,
                                                   std::size_t size) {
  auto facts = io::facts_of(fd, path);
  if (!facts) return facts.error();
  if (facts->size != 0) {
    auto why = damage_of_pages(fd, facts->size, size, path);
    if (!why) return why.error();
    if (!why->empty()) return damage(path, *why);
  }
  MDB_env* env = nullptr;
  int rc = ::mdb_env_create(&env);
  if (rc != 0) return io::file_failure("open", path, rc);
  environment_ptr made(env);
  // By its descriptor: nobody can put another file in its place between the check and the use. The
  // calling thread's: /proc/self leads to the first one, which may have ended or have others.
  const std::string name = "/proc/thread-self/fd/" + std::to_string(fd);
  rc = ::mdb_env_set_mapsize(env, size);
  constexpr unsigned flags = MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC | MDB_NORDAHEAD | MDB_NOMEMINIT;
  if (rc == 0) rc = ::mdb_env_open(env, name.c_str(), flags, 0600);
  if (rc == 0) rc = close_on_exec(env);
  if (is_damage(rc)) return damage(path, ::mdb_strerror(rc));
  if (rc != 0) {
    const std::string need =
        "; it needs " + std::to_string(size >> 20U) + " MiB of address space (ulimit -v)";
    const std::string cause = rc == ENOMEM ? need : "";
    return error(errc::unavailable, "cannot open " + path + ": " + ::mdb_strerror(rc) + cause);
  }
  if (rc = prepare_table(env); rc != 0) return damage(path, ::mdb_strerror(rc));
  return made;
}

result<database> database::open(io::unique_fd file, std::string path, std::size_t size) {
  auto env = opened(file.get(), path, size);
  if (!env) return env.error();
  return database(std::move(*env), std::move(file), std::move(path), size);
}

result<void> database::open_again() {
  // Before the old one is closed: without it there would be nothing to ask when this fails.
  auto env = opened(file_.get(), path_, size_);
  if (!env) return env.error();
  env_ = std::move(*env);
  counted_in_ = 0;
  counted_ = 0;
  return {};
}

database::usage database::used() const {
  MDB_envinfo info{};
  MDB_stat stat{};
  ::mdb_env_info(env_.get(), &info);
  ::mdb_env_stat(env_.get(), &stat);
  const std::uint64_t touched = std::uint64_t{info.me_last_pgno} + 1;
  return {(touched - std::min(touched, free_pages())) * stat.ms_psize, info.me_mapsize,
          stat.ms_entries};
}

// Pages that were given back; LMDB keeps lists of them, each with its length in front, in a table
// that only a read may look into.
std::uint64_t database::free_pages() const {
  MDB_txn* txn = nullptr;
  MDB_cursor* at = nullptr;
  if (::mdb_txn_begin(env_.get(), nullptr, MDB_RDONLY, &txn) != 0) return 0;
  std::uint64_t all = 0;
  if (::mdb_cursor_open(txn, 0, &at) == 0) {
    MDB_val k{};
    MDB_val v{};
    while (::mdb_cursor_get(at, &k, &v, MDB_NEXT) == 0 && v.mv_size >= sizeof(std::size_t)) {
      std::size_t length{};
      std::memcpy(&length, v.mv_data, sizeof length);
      all += length;
    }
    ::mdb_cursor_close(at);
  }
  ::mdb_txn_abort(txn);
  return all;
}

bool database::has_room(std::uint64_t transaction) const {
  MDB_envinfo info{};
  MDB_stat stat{};
  ::mdb_env_info(env_.get(), &info);
  ::mdb_env_stat(env_.get(), &stat);
  const std::uint64_t pages = info.me_mapsize / stat.ms_psize;
  const std::uint64_t kept = pages / 20;
  const std::uint64_t fresh = pages - std::min(pages, std::uint64_t{info.me_last_pgno} + 1);
  if (fresh > kept) return true;
  if (transaction - counted_in_ >= writes_between_counts || fresh + counted_ <= kept) {
    counted_ = free_pages();
    counted_in_ = transaction;
  }
  return fresh + counted_ > kept;
}

bool database::is_removed() const {
  struct stat s {};
  return ::fstat(file_.get(), &s) == 0 && s.st_nlink == 0;
}

bool database::is_disk_full() const {
  // LMDB writes so much at a time at most, and others may have freed a little meanwhile.
  constexpr std::uint64_t next_to_nothing = std::uint64_t{1} << 20U;
  const auto disk = io::file_system_of(file_.get(), path_);
  return disk && disk->free < next_to_nothing;
}

transaction::transaction(database& db, kind what) : db_(db) {
  const unsigned flags = what == kind::read ? MDB_RDONLY : 0;
  int rc = ::mdb_txn_begin(db.environment(), nullptr, flags, &txn_);
  result<void> again;
  // LMDB gives an environment up whose head page could not be written. What was committed is in the
  // file.
  if (rc == MDB_PANIC) {
    again = db.open_again();
    if (again) rc = ::mdb_txn_begin(db.environment(), nullptr, flags, &txn_);
  }
  if (!again) {
    const bool damaged = again.error() == errc::damaged;
    fail(damaged ? core::status::damaged : core::status::unavailable,
         "after a write that failed, " + again.error().message());
  } else if (!check(rc, "begin with")) {
    txn_ = nullptr;
  }
}

transaction::~transaction() {
  if (txn_ != nullptr) ::mdb_txn_abort(txn_);
}

std::uint64_t transaction::number() const noexcept {
  return txn_ == nullptr ? 0 : ::mdb_txn_id(txn_);
}

bool transaction::check(int rc, const char* doing) {
  if (rc == 0) return true;
  // LMDB's for a write that was cut short, as it is by a disk that fills up.
  if (rc == EIO && db_.is_disk_full()) rc = ENOSPC;
  const std::string text =
      std::string("cannot ") + doing + " " + db_.path() + ": " + ::mdb_strerror(rc);
  if (rc == MDB_MAP_FULL) {
    say_full();
  } else if (rc == ENOSPC || rc == EDQUOT) {
    fail(core::status::unavailable,
         "the store is full: " + text + "; free space on its disk. Nothing was changed");
  } else if (rc == EIO) {
    fail(core::status::unavailable,
         text +
             ": its disk failed (the kernel's log has more), or a limit was reached in the "
             "middle of a write (a quota, ulimit -f). Nothing was changed");
  } else if (is_damage(rc)) {
    fail(core::status::damaged, damage_text(db_.path(), ::mdb_strerror(rc)));
  } else {
    fail(core::status::unavailable, text);
  }
  return false;
}

bool transaction::require_room() {
  if (good() && !db_.has_room(number())) say_full();
  return good();
}

void transaction::say_full() {
  const auto now = db_.used();
  fail(core::status::unavailable,
       "the store is full: " + db_.path() + " has " + std::to_string(now.records) +
           " sessions, holders and waiters in " + std::to_string(now.used >> 20U) + " of its " +
           std::to_string(now.limit >> 20U) +
           " MiB; release locks, end sessions (`holdfast ls` shows them), or use another store "
           "too. Nothing was changed");
  failure_.full = true;
}

void transaction::fail(core::status what, std::string text) {
  if (!failure_) failure_ = {what, std::move(text)};
}

void transaction::damaged(const char* what) {
  fail(core::status::damaged, unreadable_text(db_.path(), what));
}

bytes transaction::get(bytes key) {
  if (!good()) return {};
  MDB_val k = value_of(key);
  MDB_val v{};
  const int rc = ::mdb_get(txn_, table, &k, &v);
  if (rc == MDB_NOTFOUND || !check(rc, "read")) return {};
  return {static_cast<const std::byte*>(v.mv_data), v.mv_size};
}

bool transaction::put(bytes key, bytes value) {
  if (!good()) return false;
  MDB_val k = value_of(key);
  MDB_val v = value_of(value);
  changed_ = check(::mdb_put(txn_, table, &k, &v, 0), "write to") || changed_;
  return good();
}

bool transaction::erase(bytes key) {
  if (!good()) return false;
  MDB_val k = value_of(key);
  const int rc = ::mdb_del(txn_, table, &k, nullptr);
  if (rc == MDB_NOTFOUND) return false;
  changed_ = check(rc, "delete from") || changed_;
  return good();
}

failure transaction::finish() {
  MDB_txn* txn = std::exchange(txn_, nullptr);
  if (txn == nullptr) return failure_;
  if (!changed_ || !good()) {
    ::mdb_txn_abort(txn);
    return failure_;
  }
  const std::uint64_t number = ::mdb_txn_id(txn);
  const int rc = ::mdb_txn_commit(txn);
  MDB_envinfo info{};
  if (rc != 0) ::mdb_env_info(db_.environment(), &info);
  if (info.me_last_txnid >= number) {
    // Its last page may or may not have reached the file: LMDB only promises to try to undo it.
    fail(core::status::unknown, "cannot write " + db_.path() + ": " + ::mdb_strerror(rc));
  }
  (void)check(rc, "write to");
  return failure_;
}

int table_cursor::seek(bytes from) {
  if (rc_ != 0) return rc_;
  key_ = value_of(from);
  return move(MDB_SET_RANGE);
}

}  // namespace holdfast::engines::local
