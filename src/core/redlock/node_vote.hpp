#pragma once

#include <holdfast/clock.hpp>

#include <cstdint>

namespace holdfast::core::redlock {

/// What a node's answer means for the majority.
enum class vote : std::uint8_t {
  granted,  ///< Our value is there.
  taken,    ///< Somebody else's is; ours certainly is not and will not be.
  failed,   ///< The node did not do it: it may neither be counted nor be called busy.
  unknown,  ///< No answer, or one that cannot be read: it may be done, now or later.
};

/// Why a node did not grant.
enum class fault : std::uint8_t {
  none,
  loading,           ///< LOADING
  disk_error,        ///< MISCONF: it refuses writes, releases too.
  out_of_memory,     ///< OOM: extending and releasing still work.
  replica,           ///< READONLY, MASTERDOWN: never followed silently.
  busy_script,       ///< BUSY, UNKILLABLE
  script_missing,    ///< NOSCRIPT: SCRIPT FLUSH or a restart.
  credentials,       ///< NOAUTH, WRONGPASS
  permission,        ///< NOPERM
  clustered,         ///< MOVED, ASK, CROSSSLOT, CLUSTERDOWN, TRYAGAIN
  too_few_replicas,  ///< NOREPLICAS
  wrong_type,        ///< WRONGTYPE: foreign data under our key; it is never deleted.
  too_many_clients,  ///< "ERR max number of clients reached"
  not_admitted,      ///< Its record is missing, of another nonce, or still waits.
  epoch_moved,       ///< Its epoch is not the attempt's; `epoch` is what it has.
  ttl_too_long,      ///< Above the record's max_ttl.
  session_missing,   ///< It has no record of the session.
  denied,            ///< The session is denied there.
  clock_went_back,   ///< Its TIME is before the record's last TIME.
  counter_full,      ///< The next token would be above `believable`.
  unreachable,       ///< It could not be sent: certainly not done.
  not_asked,         ///< It had no vote when the others were asked.
  silent,            ///< No answer in time.
  connection_lost,   ///< The connection ended before the answer.
  garbled,           ///< An answer of no known form.
  refused,           ///< Another error reply.
};

/// What to do about a fault.
struct fault_action {
  vote means{vote::failed};
  bool look_again{};   ///< Read the node's record and run_id again before it votes again.
  const char* text{};  ///< For messages: "is loading its data".
};

fault_action action_on(fault f) noexcept;

/// One node's answer to an acquire or a raise.
struct node_vote {
  vote what{vote::unknown};
  fault why{fault::none};
  std::uint64_t counter{};         ///< granted, with tokens: the value the node gave.
  std::uint64_t epoch{};           ///< epoch_moved: what the node has.
  duration left{duration::max()};  ///< taken: how long the other's key has to live, if known.
  bool endless{};                  ///< taken: its key has no ttl, and no Redlock client makes one.

  static node_vote granted(std::uint64_t counter = 0) noexcept;
  static node_vote taken(duration left = duration::max()) noexcept;
  static node_vote of(fault f, std::uint64_t epoch = 0) noexcept;
};

}  // namespace holdfast::core::redlock
