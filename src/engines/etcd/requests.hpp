#pragma once

#include "core/engine.hpp"
#include "engines/etcd/codec.hpp"
#include "engines/etcd/keys.hpp"
#include "wire/etcd_requests.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// The transactions of the operations. What each reply holds is said beside it; parts that are
/// there in one branch only begin at index zero.
namespace holdfast::engines::etcd::requests {

using wire::etcd::txn;

/// then: created. otherwise: [all of the session, epoch].
txn open(const key_space& k, std::int64_t epoch_mod, const core::session_record& draft);
/// then: written. otherwise: [all of the session].
txn beat(const key_space& k, const session_id& id, std::uint64_t inc);
/// then: deleted. `entries`: our own that are known, at most sweep_max of them go with it.
txn close(const key_space& k, const session_id& id, std::uint64_t inc,
          std::span<const std::string> entries);
/// then: deleted. otherwise: [all of the session].
txn take(const key_space& k, const session_id& id, const core::version& seen);
/// Both: [all of the session].
txn deny(const key_space& k, const session_id& id, const denial_note& note);
/// then: [sessions from there on, page_max keys at most, entries likewise], those that are asked
/// for.
txn list(const key_space& k, const std::optional<std::string>& sessions_from,
         const std::optional<std::string>& entries_from, std::int64_t revision);

/// The entry, if it is granted without a look at anybody. It is small, for every server of the
/// cluster writes all of it down, what is not done included.
///
/// then: made, and granted unless the count that it ends with says otherwise (counted()).
/// otherwise: [all of the session, epoch, the queue].
txn enqueue(const key_space& k, std::int64_t epoch_mod, const core::enqueue_request& r);
/// Whether the granting branch of enqueue() ends with a count that has to be looked at.
bool counted(const core::enqueue_request& r) noexcept;

/// The entry behind those who are there, if their modes agree; for other modes than permits.
///
/// then: [a transaction: then: [put, the queue], and it is made; otherwise: [the queue]], and all
/// of each of these sessions, sessions_max at most. otherwise: as enqueue().
txn enter(const key_space& k, std::int64_t epoch_mod, const core::enqueue_request& r,
          std::span<const session_id> ids);

/// Makes the entry if nobody has entered the queue after `revision`.
/// then: made. otherwise: as enqueue().
txn append(const key_space& k, std::int64_t epoch_mod, const core::enqueue_request& r,
           std::int64_t revision);

/// then: [all of the session, the queue up to `created`].
txn confirm(const key_space& k, const session_id& id, const lock_name& name, std::int64_t created);
/// then: [the queue].
txn queue(const key_space& k, const lock_name& name, std::int64_t revision);
/// then: all of each of these sessions, sessions_max at most.
txn sessions(const key_space& k, std::span<const session_id> ids, std::int64_t revision);
/// then: [keys of entries from `from` on, page_max at most]; `from` empty: from the first one.
txn page(const key_space& k, const std::string& from);
/// then: [keys of sessions from `from` on, then from the first one on; four
/// for each of `others` at most].
txn others(const key_space& k, const session_id& from, std::size_t others);
/// then: [the entry that was created in this revision, or nothing].
txn find(const key_space& k, const lock_name& name, std::int64_t created);

/// Deletes the entry at `key` that was created in `created`. With `move_gate`:
/// then: the session is there; the last is [gate]. otherwise: it is not.
/// Without:
/// then: deleted. otherwise: [the session's record, or nothing].
txn leave(const key_space& k, const core::leave_request& r, const std::string& key,
          std::int64_t created);
/// The same by the request's number, except for permits, whose keys are told.
/// then: [..., permits' keys, gate]. otherwise: the session is not there.
txn leave_by_request(const key_space& k, const core::leave_request& r);
/// Of entries that are dead for certain, or our own.
txn erase(std::span<const std::string> keys);

/// At most so many sessions are read in one transaction: a server takes 128 operations, and what it
/// answers has to be short.
inline constexpr std::size_t sessions_max = 60;
/// At most so many dead entries are deleted in one transaction.
inline constexpr std::size_t sweep_max = 100;
inline constexpr std::int64_t page_max = 2000;

}  // namespace holdfast::engines::etcd::requests
