#pragma once

#include "io/redis/redis_script.hpp"

#include <array>
#include <string_view>

namespace holdfast::engines::redlock {

using script = io::redis_script;

/// First words of the errors that the scripts answer with. They are votes: the node certainly did
/// not do it. All other errors come from the server, with its own first word.
namespace refusal {
inline constexpr std::string_view not_admitted{"HFNOTADMITTED"};  ///< No record, another, epoch 0.
inline constexpr std::string_view epoch{"HFEPOCH"};            ///< Second word: the node's epoch.
inline constexpr std::string_view ttl{"HFTTL"};                ///< Second word: max_ttl in ms.
inline constexpr std::string_view no_session{"HFNOSESSION"};   ///< No record of the session.
inline constexpr std::string_view denied{"HFDENIED"};          ///< `HFDENIED by WHO: WHY`
inline constexpr std::string_view clock_went_back{"HFCLOCK"};  ///< Second word: microseconds.
inline constexpr std::string_view counter{"HFCOUNTER"};        ///< A token above 2^52 - 1.
}  // namespace refusal

/// What this engine asks of a Redis 6.0 or later; the same over RESP2 and RESP3.
///
/// In all of them KEYS and ARGV have exactly the order written here. Numbers are decimal; ttls are
/// milliseconds from 1 on; `nonce` and `epoch` are those of the node record that the client knows.
/// `value` is opaque here: 40 hexadecimal digits of 20 random bytes, used for one attempt only,
/// and with tokens a '.' and the 32 digits of the session's id, by which `list` tells whose it is.
/// A session has one ttl for itself and all its locks; it never changes. `time` in a reply is the
/// server's TIME in microseconds, by which a step of its clock is found.
///
/// No script creates a key that was lost, and none deletes what is not its caller's; `repair` puts
/// one back and says below when it may be sent. With tokens off only `release` and `renew_plain`
/// are used, and `SET lock value NX PX ttl` to acquire.
namespace scripts {

/// Gives the lock to `value` if it is free, with a counter larger than any that this node has seen
/// for the name: max(counter, hint) + 1. A hint above the server's TIME in microseconds plus one
/// day is not heeded; 0 is none.
///
///     KEYS  lock, token_key(lock), node_key, session_key(id)
///     ARGV  value, ttl, hint, nonce, epoch
///     reply array [counter, time]     granted: the counter, from 1 to 2^52 - 1
///           array [0, time, ms left]  taken, by any type of value; -1: it has no ttl
///           not_admitted, epoch, clock_went_back, no_session, denied, ttl, counter: the first that
///           applies, in this order
extern const script acquire;

/// Lifts the node's counters to at least `token` while the lock still has our value.
///
///     KEYS  lock, token_key(lock), node_key
///     ARGV  value, token, nonce, epoch
///     reply 1 done; 0 the lock is not ours any more
///           not_admitted, epoch, clock_went_back, counter; WRONGTYPE where another type of value
///           is there
extern const script raise;

/// Gives the lock back to a holder whose key this node lost, and lifts the counters as `raise`.
/// Only to be sent after a majority has just confirmed `value`, before the lock's deadline; it then
/// counts for time and never for the token.
///
///     KEYS  lock, token_key(lock), node_key, session_key(id)
///     ARGV  value, ttl, token, nonce
///     reply array [1, time] done; array [0, time, ms left] taken, as in acquire
///           not_admitted, clock_went_back, no_session, denied, ttl, counter
extern const script repair;

/// Deletes the lock if it has our value, and calls the next one who waits (keys.hpp): who hears the
/// first seat behind ours that anybody hears. Needs no admission: a node that lost its state may
/// have the key of an acquire that came later.
///
///     KEYS  lock
///     ARGV  value, and all of these or none: seat (empty: that of the value), own (1: this client
///           itself hears that seat here), keep (1: nobody is notified, for this client takes the
///           lock again; 2: the same, and nobody is counted); then, in another database than 0,
///           scope_of() it. An empty value: nothing is deleted, and the next one is called if the
///           lock is free
///     reply 1 deleted, and no other client waits here; 2 deleted, but not counted, or the user may
///           not count them (all were notified) or not publish; 0 not ours, or not there; 3
///           deleted, and others wait
extern const script release;

/// Extends up to 100 locks of a session, and its record, to `ttl` from now on.
///
///     KEYS  node_key, session_key(id), lock...
///     ARGV  nonce, ttl, value...
///     reply array [text, time]; the text has one character for each lock in order: '1' extended,
///           '0' not ours any more
///           not_admitted, clock_went_back, no_session, denied, ttl: nothing was extended
extern const script renew;

/// The same without tokens: no node record and no session.
///
///     KEYS  lock...
///     ARGV  ttl, value...
///     reply the text alone
extern const script renew_plain;

/// Writes the record of a session, also again where it was lost. `field` is any name but `ttl` and
/// those that begin with `denied`.
///
///     KEYS  node_key, session_key(id)
///     ARGV  nonce, ttl, (field, value)...
///     reply 1
///           not_admitted, denied, ttl
extern const script open;

/// Deletes the record of a session, unless it is denied. Its locks are released one by one.
///
///     KEYS  session_key(id)
///     reply 1 deleted; 0 not there, or denied
extern const script close;

/// Denies a session for max_ttl * (1 + rho) + margin from now on, whether its record is there or
/// not. Who denied it first, and why, stays; the time counts anew. Also where the node waits.
///
///     KEYS  node_key, session_key(id)
///     ARGV  nonce, by, why
///     reply array [what, ttl]: 1 denied, 0 was denied before, 2 had no record; the session's ttl,
///           0 when it is not known
///           not_admitted
extern const script deny;

/// One page of what is there. Not one picture: what changes between pages may be missed. `count`
/// (SCAN's) is best from 50 to 200, so that no page blocks the node for long.
///
///     KEYS  none
///     ARGV  cursor ("0" at first), count
///     reply array [next cursor as text, "0" after the last page; sessions; locks; withheld]
///           session: array [id, ms left, array of field, value, ...]
///           lock: array [name, value, ms left, counter or 0]. On a node that confirmed the
///           holder's token the counter is that token. Also keys of other programs that have a ttl
///           and a value of 40 hexadecimal digits: those of holders without tokens look the same.
///           withheld: the name of a key that this user may not read and that may be a lock, or
///           empty
extern const script list;

/// Reads the node record.
///
///     KEYS  node_key
///     reply array [time] when there is none, else
///           array [time; id, nonce, epoch, run_id, floor, max_ttl, last_time, config_hash,
///           durable, kept_epoch], each a text as it is stored, null where the field is missing
extern const script look;

/// Lifts the epoch of an admitted node, after which acquires and raises of earlier ones are
/// refused, and reads its floor in the same step.
///
///     KEYS  node_key
///     ARGV  nonce, epoch
///     reply integer, the floor
///           not_admitted, epoch (the node's is not below)
extern const script seal;

/// Replaces the node record if it has the nonce and epoch that were seen, or, with an empty nonce,
/// if there is none. The larger of both floors stays, without one that is damaged: that is
/// `changed` while nonce and epoch stay. last_time becomes the node's TIME, or while nonce and
/// epoch stay the larger of both. This is how a node is initialised and recovered (an operator's
/// commands), how the loss of its state is named (a fresh nonce, epoch 0), how it rejoins after the
/// seal, and how a durable one that restarted is accepted (the same nonce, the new run_id).
///
///     KEYS  node_key
///     ARGV  nonce seen, epoch seen, id, nonce, epoch, run_id, floor, max_ttl, config_hash,
///           durable, kept_epoch
///     reply 1 written; 0 changed: there is another record, or none
///           counter (the floor)
extern const script write;

/// Every script, to load them on a new connection.
extern const std::array<const script*, 13> all;

}  // namespace scripts

}  // namespace holdfast::engines::redlock
