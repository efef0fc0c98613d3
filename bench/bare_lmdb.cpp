#include "bench/bare_lmdb.hpp"

#include <sys/stat.h>

#include <array>
#include <stdexcept>

namespace holdfast::bench {

namespace {

void must(int code) {
  if (code != MDB_SUCCESS) throw std::runtime_error(mdb_strerror(code));
}

/// What an entry of a queue takes: order, owner, incarnation, request, mode, time.
constexpr std::size_t entry_bytes = 56;

}  // namespace

bare_lmdb::bare_lmdb(const std::string& directory) {
  ::mkdir(directory.c_str(), 0700);
  must(mdb_env_create(&env_));
  must(mdb_env_set_mapsize(env_, std::size_t{1} << 30));
  must(mdb_env_open(env_, directory.c_str(), MDB_NOSYNC, 0600));
  MDB_txn* t = nullptr;
  must(mdb_txn_begin(env_, nullptr, 0, &t));
  must(mdb_dbi_open(t, nullptr, 0, &table_));
  must(mdb_txn_commit(t));
}

bare_lmdb::~bare_lmdb() { mdb_env_close(env_); }

void bare_lmdb::put_and_delete(const std::string& name) {
  std::array<char, entry_bytes> bytes{};
  MDB_val key{name.size(), const_cast<char*>(name.data())};
  MDB_val value{bytes.size(), bytes.data()};
  MDB_txn* t = nullptr;
  must(mdb_txn_begin(env_, nullptr, 0, &t));
  must(mdb_put(t, table_, &key, &value, 0));
  must(mdb_txn_commit(t));
  must(mdb_txn_begin(env_, nullptr, 0, &t));
  must(mdb_del(t, table_, &key, nullptr));
  must(mdb_txn_commit(t));
}

}  // namespace holdfast::bench
