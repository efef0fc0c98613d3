#pragma once

#include "core/lease.hpp"
#include "core/parking.hpp"
#include "core/records.hpp"

#include <holdfast/lock_name.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::core {

/// What an engine answers. Only `unavailable` and `unknown` are about the engine itself.
enum class status : std::uint8_t {
  ok,               ///< Done. For queue views: granted.
  queued,           ///< The entry is there and waits.
  busy,             ///< A try found it held; no entry was left behind.
  gone,             ///< The session record (or, for confirm, the entry) is not there.
  denied,           ///< The session is denied.
  changed,          ///< A compare failed; the reply carries what is there.
  stale_gate,       ///< The enqueue carried an older gate than the record's.
  conflicting,      ///< The mode does not agree with the live entries of the name.
  too_many,         ///< The name has `waiters_max` live entries already.
  unsupported,      ///< The engine cannot do this; the text says what and why.
  invalid,          ///< Cannot be done as asked, however often; the text says what to correct.
  unavailable,      ///< Certainly not done: could not be asked, or refused before doing anything.
  unknown,          ///< May have been done, or may still be done later.
  damaged,          ///< Stored data cannot be trusted.
  not_initialised,  ///< Not done: the store has to be set up by an operator first.
};

/// The store has decided: nothing of the operation is under way any more.
constexpr bool is_answer(status s) noexcept {
  return s != status::unavailable && s != status::unknown;
}

/// The part that all replies share.
struct reply {
  status what{status::unavailable};
  std::string text{};     ///< For people: what failed, on what, why. May be empty for ok.
  bool needs_operator{};  ///< Not ok: the text says what a person has to do first.
};

struct open_request {
  session_record draft;  ///< id, ttl, where, owner, opened; the engine gives the rest.
};
struct open_reply : reply {
  version at{};
  std::uint64_t gate{};
  /// ok: when the record was sent, where that was later than the call. The session lasts from then.
  std::optional<time_point> sent{};
  duration ttl_limit{};  ///< invalid: the longest ttl that the store takes; zero: not its fault.
};

struct beat_request {
  session_id id;
  std::uint64_t inc{};
  std::uint64_t attempt{};  ///< Numbers every transmission of this session, from 1.
};
struct beat_reply : reply {
  std::uint64_t proves{};  ///< ok: the attempt whose write this reply proves, not a later one.
};

/// Whom an engine tells of one lock that has a lease of its own. Neither function runs user code or
/// calls the engine. They may be called on any thread; the engine holds no mutex then.
class lock_listener {
 public:
  lock_listener() = default;
  lock_listener(const lock_listener&) = delete;
  lock_listener& operator=(const lock_listener&) = delete;
  virtual ~lock_listener() = default;
  /// This lock alone is lost before its deadline; `gone` or `denied`, and the text says why. The
  /// engine calls lease::lose() first, then this, at most once, after its reply has said ok. It
  /// need not wait for a leave() that comes at the same time: a call that comes late, even after
  /// leave() was answered, is ignored.
  virtual void lost(const reply& why) = 0;
  /// After lease::shorten(), any number of times: without it check() knows at once that the
  /// deadline is earlier, but the loss would be reported only at the old one.
  virtual void shortened() = 0;
};

struct enqueue_request {
  lock_name name{""};
  session_id id;
  std::uint64_t inc{};
  std::uint64_t gate{};
  std::uint64_t request{};
  mode how{mode::exclusive()};
  bool leave_if_busy{};  ///< A try: no entry is left behind unless granted.
  wall_time since{};

  /// For grants with a lease of their own (queue_view::own); other engines drop it. Dropped when
  /// leave() is answered or the session is closed.
  std::shared_ptr<lock_listener> listener{};
};

/// Somebody older in the queue, and what a successor must note of its session.
struct rival {
  token order;
  session_id owner;
  version at;
  duration ttl{};
  life_place where;
  std::int64_t pid{};  ///< A hint where to look first, never proof.
  mode how{mode::exclusive()};
  wall_time since{};
};

/// An entry as those behind it see it; `s` is its owner's record.
inline rival rival_of(const entry& e, const session_record& s) {
  return {.order = e.order,
          .owner = e.owner,
          .at = s.at,
          .ttl = s.ttl,
          .where = s.where,
          .pid = s.owner.pid,
          .how = e.how,
          .since = e.since};
}

/// What enqueue and confirm saw, in one moment.
struct queue_view : reply {
  token mine{};                  ///< ok, queued: our entry; zero where entries have no order.
  std::uint64_t gate{};          ///< stale_gate: the record's gate.
  std::vector<rival> ahead{};    ///< queued, busy: older live entries by age; conflicting: all.
  std::vector<token> targets{};  ///< queued: watch_targets() of the live entries.
  /// queued, busy, conflicting: the session of the oldest, if it is known.
  std::shared_ptr<const session_record> first{};
  /// ok: the lock's own deadline, which the engine keeps and extends; a new object for every grant.
  /// Null: the session's lease decides. The client makes it lost, whatever it says, before it sends
  /// the leave or the close that ends the lock.
  std::shared_ptr<lease> own{};
};

struct leave_request {
  lock_name name{""};
  session_id id;
  std::uint64_t inc{};
  std::uint64_t request{};
  token order{};     ///< Zero when it has none or is not known: found by `request`.
  bool move_gate{};  ///< Shuts out an enqueue that may still be under way.
  bool asks_who{};   ///< It gives up, and nothing is known of who has the name.
};
struct leave_reply : reply {
  std::uint64_t gate{};  ///< ok with move_gate: the new gate.
  /// ok with asks_who: the session of the holder, where the store can tell whose it is only now.
  std::shared_ptr<const session_record> first{};
};

struct confirm_request {
  lock_name name{""};
  session_id id;
  std::uint64_t inc{};
  token order{};            ///< Zero where entries have no order: found by `request`.
  std::uint64_t request{};  ///< That of the enqueue.
};

struct take_request {
  session_id id;
  version seen;
};
struct take_reply : reply {
  version at{};  ///< changed: what is there.
};

struct deny_request {
  session_id id;
  std::string by;
  std::string why;
};
struct deny_reply : reply {
  bool already{};
  duration ttl{};
};

struct close_request {
  session_id id;
  std::uint64_t inc{};
};

/// At most so many sessions are named in one glance, and so many others asked for.
inline constexpr std::size_t glance_max = 32;

struct glance_request {
  std::vector<session_id> whom{};
  std::size_t others{};  ///< So many besides, of the engine's choice.
  session_id from{};     ///< Random: those others are behind it, where the engine has an order.
  bool whole{true};      ///< False: id, version, ttl and place are enough.
};
struct glance_reply : reply {
  std::vector<session_record> there{};  ///< In no order; one that was named may be there twice.
};

struct watch_request {
  lock_name name{""};
  token mine{};
  std::vector<token> targets;
  session_id id{};
  std::uint64_t request{};  ///< That of the enqueue: finds a waiter that has no order.
  bool blocks{};            ///< The caller's thread is about to block, and will call lend().
};

struct listed_lock {
  lock_name name{""};
  std::vector<entry> entries;  ///< Live ones, in order.
};
/// With `ok` its text says why entries may be missing, if any may.
struct listing : reply {
  std::vector<session_record> sessions;
  std::vector<listed_lock> locks;
  std::uint64_t revision{};  ///< Differs when anything that listing shows has changed.
  /// How long the store needed for it, where it was also waited for those that may have more to
  /// say; nothing: as long as it took.
  std::optional<duration> needed{};
};

/// Keeps a watch armed; destroying it disarms. After the destructor has returned, `notify` is not
/// running and will not run again, unless the destructor runs inside `notify` itself.
class watch_handle {
 public:
  watch_handle() = default;
  watch_handle(const watch_handle&) = delete;
  watch_handle& operator=(const watch_handle&) = delete;
  virtual ~watch_handle() = default;
};

/// Receives one reply, exactly once.
template <class R>
using on = std::function<void(R)>;

/// Where session and lock records live: the port that every engine implements. Eleven operations,
/// and behind them five hooks with defaults, for engines that have more to say or to do.
///
/// For all of them:
/// - They may be called from any thread, concurrently with each other, also for one session.
/// - The callback runs exactly once: on the calling thread before the call returns (embedded
///   engines), or later on a thread of the engine. The caller holds no mutex while calling.
/// - No engine timer decides anything: nothing here expires by itself.
/// - `unavailable` promises that nothing was done and nothing will be. `unknown` promises nothing.
/// - Lock names were checked by the caller; ids, modes and numbers are in range. A name or mode
///   that this engine alone cannot have is answered `invalid` or `unsupported`, with the reason.
///
/// An engine may keep the queue to itself (Redlock: a waiter contends, nobody is ahead of it). It
/// answers `queued` with nothing ahead and no targets; from then on it tries to grant until
/// leave(), and calls `notify` of the waiter's watch when confirm() has news. Its locks may end one
/// by one, each by a lease of its own.
class engine {
 public:
  engine() = default;
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;
  virtual ~engine() = default;

  /// Creates the session record. Called once per id, again only after `unknown` (a record with this
  /// id is then our own and answers ok). `denied` when the record is there and denied.
  virtual void open(const open_request&, on<open_reply>) = 0;

  /// "Same inc, not denied -> new beat." One conditional, otherwise blind write, so that a repeated
  /// transmission succeeds again. `gone` when there is no record with this inc: a beat never
  /// creates one. An engine that finds one of this session's earlier writes where it expected
  /// another version says in `proves` which attempt that was.
  virtual void beat(const beat_request&, on<beat_reply>) = 0;

  /// Deletes the record if its inc is the same: the whole release of all its locks in one write.
  /// `gone` when it is not there. Also used by an expired session on itself. An engine whose locks
  /// have leases of their own gives all locks and waiters of the session up, in the same call.
  virtual void close(const close_request&, on<reply>) = 0;

  /// One atomic step: session there, same inc, not denied, same gate, mode agrees with the live
  /// entries, room left -> append an entry whose order is larger than any order given before in
  /// this store. ok when granted at once. With `leave_if_busy` a busy name answers `busy` and
  /// nothing is left behind. The same (id, inc, request) again answers for the entry that is there.
  /// An engine never sends an enqueue a second time by itself: whether it may is the claim's
  /// choice. Dead entries met on the way may be swept, at most 100 in a call. Errors: gone, denied,
  /// stale_gate, conflicting, too_many, unsupported, invalid.
  virtual void enqueue(const enqueue_request&, on<queue_view>) = 0;

  /// Deletes our own entry, by order or by request; somebody else's is never touched. ok also when
  /// there was none. A waiter that an engine contends for stops contending, and what a lost lock
  /// has left behind goes. With `move_gate` the record's gate grows in the same step, after which
  /// an enqueue that carries an older one does not apply. Whoever watches the entry is notified.
  /// `gone` when the session's record is not there: then the entry is dead, and no enqueue applies.
  /// With `asks_who` the answer may take a node timeout longer.
  virtual void leave(const leave_request&, on<leave_reply>) = 0;

  /// Reads in one moment whether our entry is there, our session is there and not denied, and who
  /// is ahead: ok when granted, queued, else gone or denied. `unavailable` and `unknown`: it could
  /// not be seen, or the engine contends without success; the entry keeps its place.
  ///
  /// A store that itself gives the lock to the next entry may say so with its news; the first
  /// confirm after that may be answered ok from it. It was true when it was said: what came after,
  /// a deny or a takeover, is kept from the holder's time by its lease, as after any grant.
  virtual void confirm(const confirm_request&, on<queue_view>) = 0;

  /// Compare-and-delete of a session record at exactly the version that was seen. `changed` when
  /// there is another, `gone` when there is none. Whoever watches one of its entries is notified.
  virtual void take(const take_request&, on<take_reply>) = 0;

  /// Sets the denied flag, which changes the version. ok again, with `already`, when it is set.
  virtual void deny(const deny_request&, on<deny_reply>) = 0;

  /// Calls `notify` once or more, from any thread, when an entry of `targets` may be gone (left, or
  /// its session's record deleted), counted from the view that named the targets: a change between
  /// that view and this call is not missed. May be called without a reason. Never called inside
  /// watch() itself. Silence proves nothing: the caller also looks by itself from time to time.
  virtual std::unique_ptr<watch_handle> watch(const watch_request&,
                                              std::function<void()> notify) = 0;

  /// Everything, in one consistent picture; entries of missing sessions are left out. An engine
  /// whose pictures are not always of one moment shows each session with its own entries as they
  /// were together, and everything that was there from the beginning to the end.
  virtual void list(on<listing>) = 0;

  /// The records of these sessions, of those that have one, and of up to `others` more. What it
  /// costs does not grow with the store, where keeps_dead(); elsewhere it may be a listing, and
  /// `others` may be passed over.
  virtual void glance(const glance_request&, on<glance_reply>) = 0;

  /// Of a session that is over what is kept here is of no use any more, but for the close() of one
  /// that was denied. Nothing is sent, and what it held stays held until then, or until its time
  /// has run out; an enqueue that is unanswered is answered with `why`.
  virtual void forget(const session_id& /*id*/, const reply& /*why*/) {}

  /// For people: what stands between us and the store at this moment, as far as it is known without
  /// asking; empty when nothing is. No I/O.
  virtual std::string trouble() const { return {}; }

  /// For people: why a lock that is held, or was until now, is not extended any more although
  /// nothing is wrong; empty where that is not so. No I/O.
  virtual std::string limit_on(const leave_request&) const { return {}; }

  /// The calling thread waits until `until` opens; an engine that has a thread for its watches may
  /// use this one instead, so that a waiter is woken once and not twice. False, at once: it waits
  /// elsewhere. What notify() does happens on this thread, then.
  virtual bool lend(parking& /*until*/) { return false; }

  /// Records of the dead stay until somebody takes them, and glance() can show any of them: then
  /// sessions that live look after them.
  virtual bool keeps_dead() const noexcept { return false; }
};

/// More live entries of one name than this are refused with `too_many`.
inline constexpr std::size_t waiters_max = 10'000;
static_assert(mode::permits_max <= waiters_max, "holders count, too");

}  // namespace holdfast::core
