#pragma once

#include <lmdb.h>

#include <string>

namespace holdfast::bench {

/// LMDB with MDB_NOSYNC and its own locks: the least that a lock in shared, crash-safe memory costs
/// when it is written with this library.
class bare_lmdb {
 public:
  explicit bare_lmdb(const std::string& directory);
  bare_lmdb(const bare_lmdb&) = delete;
  bare_lmdb& operator=(const bare_lmdb&) = delete;
  ~bare_lmdb();

  /// Two write transactions: one puts a record of an entry's size, the other deletes it.
  void put_and_delete(const std::string& name);

 private:
  MDB_env* env_{};
  MDB_dbi table_{};
};

}  // namespace holdfast::bench
