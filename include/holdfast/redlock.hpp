#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/export.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// What an operator of a Redlock store does once, or after a disaster: set it up, look at its
/// nodes, recover it. Locks are taken as on every store; see holdfast/session.hpp.
///
/// With tokens each node keeps a small record of itself (docs/redlock.md, "On the wire"). A node
/// that lost its record does not vote until it has rejoined. When a majority lost theirs, no rule
/// can tell what was granted, and a person decides by recover().
///
/// On a thread of the library, which must not wait, each function is refused with
/// `would_block`.
namespace holdfast::redlock {

/// One node, as this client sees it.
struct node_info {
  std::string address;    ///< As in the URL.
  bool connected{};       ///< It answers. If not, only `address` and `standing` are meaningful.
  bool votes{};           ///< It is asked for locks.
  std::string standing;   ///< For people: "votes", or why it does not vote and until when.
  std::string version;    ///< The server's version.
  std::string role;       ///< "master"; "replica" and whatever else there is are refused.
  bool durable{};         ///< It syncs every write before it answers (`appendfsync always`).
  bool recorded{};        ///< It has a node record; the members below come from there.
  std::string id;         ///< The node's id, given by init().
  std::uint64_t epoch{};  ///< Zero: it lost its state, or its clock stepped; it has to rejoin.
  std::uint64_t floor{};  ///< No token above this was given.
  duration max_ttl{};     ///< The longest ttl that its scripts accept.
};

/// All nodes of a store, at about one moment.
struct overview {
  std::string url;  ///< Without secrets.
  bool tokens{};    ///< False with `tokens=off`: there are no records then.
  std::vector<node_info> nodes;
  std::size_t votes{};   ///< How many nodes vote.
  std::size_t needed{};  ///< How many must, for locks to be granted.
  /// The error of opening a session now; nothing when locks can be granted. After status() also
  /// `invalid_argument` when the URL's ttl is above what a majority allows.
  std::optional<errc> trouble;
  /// With `trouble`: why, and what to do. Without: why nothing was done, what in the URL does not
  /// fit the nodes, or that their number is even; mostly empty.
  std::string advice;
};

/// How to set up a store.
struct init_options {
  /// The longest ttl of any lock, from 100 ms to 1 h, rounded up to milliseconds. A node that lost
  /// its state waits for as long. Zero: what the nodes have, else the URL's `max_ttl`, which is
  /// 60 s by default.
  duration max_ttl{};
};

/// How to recover a store.
struct recover_options {
  duration max_ttl{};  ///< As in init_options.
  /// Takes over nodes whose records are of another list of nodes. Their old store loses them: stop
  /// its holders first.
  bool other_list{};
};

/// Looks at every node, and waits some seconds for those that do not answer. Like every client it
/// brings back nodes that may rejoin; what init() and recover() decide it leaves to them.
///
/// Errors: `invalid_argument` (the URL), `unsupported` (not a redlock:// store).
HOLDFAST_EXPORT result<overview> status(std::string_view url);

/// Writes the first node records. Every node has to answer, and none may have a record; other
/// keys and `appendonly no` are accepted. Locks can be taken when it returns.
///
/// Errors:
/// - `invalid_argument`: a `max_ttl` out of range, set up already, a replica, the same server
///   twice, one that may drop keys (an eviction policy with a memory limit, which `may_evict=yes`
///   in the URL accepts), or a ttl of the URL that would be longer than `max_ttl`.
/// - `unavailable`: a node cannot be used; nothing was written.
/// - `outcome_unknown`: some records may have been written. The message names the nodes that did
///   not confirm theirs, what they replied, and whether a majority votes, which brings in the
///   others when they take writes.
/// - `unsupported`: not a redlock:// store, or one with `tokens=off`, which has no records.
HOLDFAST_EXPORT result<overview> init(std::string_view url, const init_options& options = {});

/// Writes new records on every node that answers, after a majority lost its state. It also gives
/// a store another list of nodes, with `other_list`, or another `max_ttl`. If all nodes vote and
/// neither changes, nothing is written.
///
/// It gives up two promises: a lock that is still held may be granted again, unless its ttl has
/// passed since the loss; and a token may repeat, if clocks were set back by more than the
/// store's age.
///
/// Errors: as init(), but a majority of the nodes is enough, it may be set up already, and a ttl of
/// the URL that is too long is not refused: `advice` names it. Nothing was written unless it says
/// so:
/// - `invalid_argument`: also, a node belongs to a store with another list of nodes.
/// - `busy`: a majority votes, so nothing is lost. A node that does not vote yet comes back by
///   itself when what it lost has ended.
/// - `busy`: `max_ttl` is to change, and a node that answers does not vote; or it is to be
///   shorter, and sessions with a longer ttl are recorded.
/// - `unavailable`: also, too few nodes can be searched for such sessions.
/// - `busy` or `outcome_unknown`, when the message says what `max_ttl` is now: **a shorter one
///   was written**. `busy`: a session with a longer ttl came meanwhile. `outcome_unknown`:
///   whether one came cannot be seen. Restart no node until those sessions have ended.
HOLDFAST_EXPORT result<overview> recover(std::string_view url, const recover_options& options = {});

}  // namespace holdfast::redlock
