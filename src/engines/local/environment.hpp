#pragma once

#include "engines/local/database.hpp"
#include "engines/local/directory.hpp"
#include "engines/local/floor.hpp"
#include "engines/local/shared_state.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::engines::local {

class watches;

/// Whose processes a write has given a reason to look again.
struct wake_list {
  std::vector<std::uint16_t> slots;
  bool everybody{};  ///< A session is gone: its entries can be in any queue.
};

/// Everything a process has of one open store; one per path and process, shared by every engine
/// object for it, because LMDB and record locks both go wrong when a process opens a file twice.
///
/// Thread safety: read() and write() from any thread.
class environment : public std::enable_shared_from_this<environment> {
 public:
  /// The longest that an operation waits for the gate; then it is `unavailable`.
  static constexpr duration gate_limit = std::chrono::seconds{2};

  static result<std::shared_ptr<environment>> open(const request& asked);
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;
  ~environment();

  /// One write: `body` runs under the gate; what it put in `wakes` is woken when it is committed
  /// and the gate is free again.
  template <class Body>
  failure write(Body&& body);
  /// One read: a consistent picture of everything.
  template <class Body>
  failure read(Body&& body);

  /// The token, or incarnation, that this write transaction gives. Raises the floor when it has to.
  /// Zero when it cannot: the transaction has failed then.
  std::uint64_t next_token(transaction& txn);
  std::uint64_t base() const noexcept { return base_; }
  /// True when whoever opens the store from now on has other files: these were removed, or another
  /// folder is in their place. What is written here excludes nobody then.
  bool is_cut_off() const { return database_.is_removed() || directory_.is_displaced(); }

  std::uint16_t slot() const noexcept { return static_cast<std::uint16_t>(slot_.number()); }
  /// True in a forked child of the process that opened it: then nothing else may be called.
  bool is_inherited() const noexcept;
  watches& watching() noexcept { return *watches_; }

  const directory& place() const noexcept { return directory_; }
  const database& data() const noexcept { return database_; }
  const token_floor& floor() const noexcept { return floor_; }
  const shared_state& shared() const noexcept { return *state_; }
  const io::process_slot& slots() const noexcept { return slot_; }
  io::process_mutex& gate() noexcept { return gate_; }

 private:
  struct parts;
  explicit environment(parts&& all);
  /// Opens all files. `may_go_on` is asked once the directory is open, and false gives up.
  static result<parts> build(const request& asked,
                             const std::function<bool(const directory&)>& may_go_on);
  /// Of the last owner. In a forked child nothing is closed.
  static void destroy(environment* dead) noexcept;
  /// Takes the store's gate: every process that has the store open takes turns.
  failure enter();
  /// Behind the transaction, and without the gate: who wakes up wants it.
  void wake(wake_list& list) noexcept;

  std::uint64_t generation_;
  directory directory_;
  io::shared_memory memory_;
  shared_state* state_;
  io::process_slot slot_;
  io::process_mutex gate_;
  token_floor floor_;
  database database_;
  std::uint64_t base_;
  std::shared_ptr<watches> watches_;
  environment* next_inherited_{};
};

template <class Body>
failure environment::write(Body&& body) {
  wake_list wakes;
  failure done;
  if (failure stuck = enter()) return stuck;
  {
    const io::process_mutex_guard held(gate_);
    transaction txn(database_, transaction::kind::write);
    if (txn.good()) body(txn, wakes);
    done = txn.finish();
  }
  if (!done) wake(wakes);
  return done;
}

template <class Body>
failure environment::read(Body&& body) {
  if (failure stuck = enter()) return stuck;
  const io::process_mutex_guard held(gate_);
  transaction txn(database_, transaction::kind::read);
  if (txn.good()) body(txn);
  return txn.finish();
}

}  // namespace holdfast::engines::local
