#pragma once

#include "core/redlock/admission.hpp"
#include "core/redlock/node_vote.hpp"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::sim::redlock {

using milliseconds = std::chrono::milliseconds;
using core::redlock::fault;
using core::redlock::node_record;
using core::redlock::server_time;

/// As the scripts are given a duration.
inline milliseconds in_ms(duration d) { return std::chrono::duration_cast<milliseconds>(d); }

/// One Redis master with the scripts of engines/redlock/scripts.hpp: each function is one script,
/// with the same checks in the same order, and answers what the script answers.
/// tests/redlock_scripts compares both, operation by operation.
///
/// Locks and sessions are numbers, and so are values; zero is none. Keys expire by the node's own
/// wall clock, in whole milliseconds as Redis counts them.
class node {
 public:
  using ballot = core::redlock::admission::ballot;
  using lock_index = std::uint32_t;
  using session_index = std::uint32_t;

  struct answer {
    fault refused{fault::none};  ///< None: it did what it says.
    /// What the script answers: a counter, a floor, 1 or 0. Of a refusal: the node's epoch, or its
    /// max_ttl in ms.
    std::uint64_t number{};
    std::bitset<100> ours{};  ///< renew: what it extended.
    milliseconds left{};      ///< Taken: how long the other lives, -1 without end. deny: the ttl.
    server_time time{};
  };
  struct acquisition {
    lock_index lock{};
    session_index session{};
    std::uint64_t value{};
    milliseconds ttl{};
    std::uint64_t hint{};
    ballot with{};
  };

  /// The moment at which the next scripts run.
  void set_time(server_time wall) noexcept { wall_ = wall; }

  answer acquire(const acquisition& a);
  /// SET lock value NX PX ttl: how locks are acquired with tokens off.
  answer acquire_plain(lock_index lock, std::uint64_t value, milliseconds ttl);
  answer raise(lock_index lock, std::uint64_t value, std::uint64_t token, const ballot& with);
  answer repair(const acquisition& a, std::uint64_t token);
  answer release(lock_index lock, std::uint64_t value);
  using held = std::pair<lock_index, std::uint64_t>;
  answer renew(session_index session, const std::vector<held>& locks, milliseconds ttl,
               const std::string& nonce);
  answer renew_plain(const std::vector<held>& locks, milliseconds ttl);
  answer open(session_index session, milliseconds ttl, const std::string& nonce);
  answer close(session_index session);
  answer deny(session_index session, const std::string& nonce);
  answer seal(const std::string& nonce, std::uint64_t epoch);
  answer write(const core::redlock::write& w);
  answer look() const;
  /// SCRIPT FLUSH: scripts are refused until they are loaded again, which a client does with
  /// everything that it asks outside of an attempt, a renewal and the first try of a release.
  void forget_scripts() noexcept { has_scripts_ = false; }
  void load_scripts() noexcept { has_scripts_ = true; }
  const std::optional<node_record>& record() const noexcept { return data_.record; }

  /// What is stored: a restart may bring an older one back.
  struct data {
    static constexpr std::int64_t no_end = INT64_MAX;
    struct key {
      std::uint64_t value{};
      std::int64_t ends{};
    };
    struct counter {
      std::uint64_t token{};
      std::uint64_t epoch{};
      std::int64_t ends{};
    };
    struct session {
      bool there{};
      bool denied{};
      milliseconds ttl{};
      std::int64_t ends{};
    };
    std::optional<node_record> record{};
    std::vector<key> locks{};
    std::vector<counter> counters{};  ///< May be forgotten at any time.
    std::vector<session> sessions{};
  };
  const data& stored() const noexcept { return data_; }
  void restore(data d) { data_ = std::move(d); }
  /// FLUSHALL, DEL and eviction.
  void flush() { data_ = {}; }
  void remove(lock_index lock);
  /// Its floor, or else its epoch, is the largest number that there is.
  void damage(bool floor);
  void forget_counter(lock_index lock);

  /// What the lock has now; zero when it is free.
  std::uint64_t value_of(lock_index lock) const noexcept;
  /// For how long the lock that lasts longest will; zero when all are free.
  milliseconds longest() const noexcept;
  /// Locks, counters and sessions that live now.
  std::size_t size() const noexcept;

 private:
  bool unknown(answer& a) const noexcept;
  bool refused(answer& a, const std::string& nonce, bool may_wait = false) const;
  bool refused_epoch(answer& a, std::uint64_t epoch) const;
  bool refused_time(answer& a) const;
  bool refused_session(answer& a, session_index session) const;
  bool refused_ttl(answer& a, milliseconds ttl) const;
  static bool refused_token(answer& a, std::uint64_t token);
  bool taken(answer& a, lock_index lock) const;
  std::uint64_t counter_of(lock_index lock) const;
  void keep_counter(lock_index lock, std::uint64_t token);
  void put(lock_index lock, std::uint64_t value, milliseconds ttl);
  void extend(answer& a, const std::vector<held>& locks, milliseconds ttl);
  const data::session* session_of(session_index session) const noexcept;
  data::session& place_of(session_index session);

  std::int64_t now() const noexcept { return wall_.count() / 1000; }
  std::int64_t end_of(milliseconds ttl) const noexcept { return now() + ttl.count(); }
  bool lives(std::int64_t ends) const noexcept { return now() <= ends; }

  data data_;
  bool has_scripts_{true};
  server_time wall_{};
};

}  // namespace holdfast::sim::redlock
