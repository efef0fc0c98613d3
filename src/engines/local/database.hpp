#pragma once

#include "core/engine.hpp"
#include "engines/local/bytes.hpp"
#include "io/file/unique_fd.hpp"

#include <holdfast/error.hpp>

#include <lmdb.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::engines::local {

/// What went wrong inside a transaction; `ok` when nothing did.
struct failure {
  core::status what{core::status::ok};
  std::string text{};
  bool full{};  ///< The map is: what the dead have left may make room.
  explicit operator bool() const noexcept { return what != core::status::ok; }
};

/// What is wrong with a file of this boot, and what to do about it.
std::string damage_text(const std::string& path, const std::string& why);
/// The same about a record that cannot be decoded.
std::string unreadable_text(const std::string& path, const char* what);
/// The second part of both.
std::string how_to_begin_anew(const std::string& path);

/// One LMDB file with one table, used under a mutex of our own (MDB_NOLOCK): LMDB's lock file knows
/// readers by pid, which two containers on one volume can share.
///
/// MDB_NOSYNC: nothing in it has to survive a power loss (the token floor does, in its own file),
/// and what the kernel has taken survives every kill.
///
/// Thread safety: none; used under the store's gate.
class database {
 public:
  /// Opens, or fills an empty file. `damaged` when LMDB could not read it safely.
  /// `size`: the most that it may grow to.
  static result<database> open(io::unique_fd file, std::string path, std::size_t size);
  /// Opens it anew as the file has it: what LMDB wants after a write of its head page has failed.
  /// Whatever was committed is in the file. Not inside a transaction; an error leaves it as it was.
  result<void> open_again();

  struct usage {
    std::uint64_t used{};
    std::uint64_t limit{};
    std::uint64_t records{};
  };
  /// As of the newest commit.
  usage used() const;
  /// True while a record may be added in the write `transaction`. The last twentieth is kept for
  /// what changes and deletes: LMDB needs new pages for that too, and without them a full store
  /// could not be emptied.
  bool has_room(std::uint64_t transaction) const;
  /// True when its file was removed: whoever opens the store from now on has another one. From any
  /// thread, without the gate.
  bool is_removed() const;
  /// True when next to nothing is free where its file is.
  bool is_disk_full() const;
  MDB_env* environment() const noexcept { return env_.get(); }
  const std::string& path() const noexcept { return path_; }

 private:
  struct closer {
    void operator()(MDB_env* env) const noexcept { ::mdb_env_close(env); }
  };
  using environment_ptr = std::unique_ptr<MDB_env, closer>;
  database(environment_ptr env, io::unique_fd file, std::string path, std::size_t size)
      : env_(std::move(env)), file_(std::move(file)), path_(std::move(path)), size_(size) {}
  /// `fd` stays the caller's. Pages that LMDB would stumble over are `damaged`.
  static result<environment_ptr> opened(int fd, const std::string& path, std::size_t size);
  std::uint64_t free_pages() const;

  environment_ptr env_;
  io::unique_fd file_;
  std::string path_;
  std::size_t size_;
  // Counting reads the whole list of free pages, so it is not done in every write.
  mutable std::uint64_t counted_in_{};
  mutable std::uint64_t counted_{};
};

/// One transaction. The first failure sticks: reads then answer "nothing" and finish() tells it.
class transaction {
 public:
  enum class kind : std::uint8_t { read, write };

  transaction(database& db, kind what);
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;
  ~transaction();

  /// The number that a commit of this write gets; of the newest commit for a read.
  std::uint64_t number() const noexcept;

  /// The value, valid until the next change; empty when there is none.
  bytes get(bytes key);
  bool put(bytes key, bytes value);
  bool erase(bytes key);
  /// Walks what begins with `prefix`, in key order, from `from` on (which may be `prefix` itself),
  /// while `each` returns true. `each` must not change the table.
  template <class Each>
  void walk(bytes prefix, bytes from, Each&& each);

  /// Fails when the database has no room for another record.
  bool require_room();

  void fail(core::status what, std::string text);
  void damaged(const char* what);
  bool good() const noexcept { return !failure_; }
  bool changed() const noexcept { return changed_; }

  /// Commits when something was changed and nothing failed; else undoes.
  failure finish();

 private:
  /// False, and the transaction has failed with a text for people, unless `rc` is zero.
  bool check(int rc, const char* doing);
  /// The map is full, whatever room its disk has.
  void say_full();

  const database& db_;
  MDB_txn* txn_{};
  bool changed_{};
  failure failure_{};
};

/// Walks with a cursor of its own.
class table_cursor {
 public:
  explicit table_cursor(MDB_txn* txn) { rc_ = ::mdb_cursor_open(txn, 1, &cursor_); }
  table_cursor(const table_cursor&) = delete;
  table_cursor& operator=(const table_cursor&) = delete;
  ~table_cursor() {
    if (cursor_ != nullptr) ::mdb_cursor_close(cursor_);
  }
  int seek(bytes from);
  int next() { return move(MDB_NEXT); }
  bytes key() const { return view(key_); }
  bytes value() const { return view(value_); }

 private:
  static bytes view(const MDB_val& v) {
    return {static_cast<const std::byte*>(v.mv_data), v.mv_size};
  }
  int move(MDB_cursor_op how) { return ::mdb_cursor_get(cursor_, &key_, &value_, how); }

  MDB_cursor* cursor_{};
  MDB_val key_{};
  MDB_val value_{};
  int rc_;
};

inline bool begins_with(bytes key, bytes prefix) {
  return key.size() >= prefix.size() && std::memcmp(key.data(), prefix.data(), prefix.size()) == 0;
}

template <class Each>
void transaction::walk(bytes prefix, bytes from, Each&& each) {
  if (!good()) return;
  table_cursor at(txn_);
  int rc = at.seek(from);
  while (rc == 0 && begins_with(at.key(), prefix)) {
    if (!each(at.key(), at.value())) return;
    rc = at.next();
  }
  if (rc != 0 && rc != MDB_NOTFOUND) (void)check(rc, "read");
}

}  // namespace holdfast::engines::local
