#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/export.hpp>
#include <holdfast/lock_name.hpp>
#include <holdfast/mode.hpp>
#include <holdfast/session_id.hpp>
#include <holdfast/snapshot.hpp>
#include <holdfast/token.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace holdfast {

/// How a session stands.
///
/// |            | beat acknowledged | unanswered for ttl/3 | deadline passed | denied | close() |
/// |------------|-------------------|----------------------|-----------------|--------|---------|
/// | attached   | attached          | endangered           | expired         | denied | closed  |
/// | endangered | attached          | endangered           | expired         | denied | closed  |
/// | expired, denied, closed | final: nothing changes them, no beat is ever sent again     ||||
///
/// Locks are held only while attached or endangered.
enum class session_state : std::uint8_t { attached, endangered, expired, denied, closed };

/// "attached", "endangered", "expired", "denied" or "closed".
HOLDFAST_EXPORT const char* name_of(session_state s) noexcept;

/// Why a held lock was lost.
enum class loss_cause : std::uint8_t {
  expired,  ///< Its lease, or that of its session, ended without being extended in time.
  denied,   ///< An operator ended it or its session.
  closed    ///< Its session was closed while it was held.
};

/// "expired", "denied" or "closed".
HOLDFAST_EXPORT const char* name_of(loss_cause c) noexcept;

/// The typed events an observer receives: plain values that may be kept.
///
/// For one lock: `waiting` any number of times, then `granted`, then at most one of `released` and
/// `lost` (neither, when the store gave no answer to the release, or the session was closed before
/// that had been told).
/// For one session: `session_changed` once for every change of its state, the final state last.
namespace event {

/// A lock was granted to this session.
struct granted {
  lock_name name;
  holdfast::token token;  ///< As lock::token() tells it.
  holdfast::mode mode;    ///< As it was asked for.
  duration waited;        ///< From the call to the grant; near zero without contention.
};

/// An acquire found the lock held and waits; sent again when its next look at the store, seconds
/// later unless it is woken, finds another number of entries ahead.
struct waiting {
  lock_name name;
  /// Live entries before ours, holders included. Zero: this store does not tell (Redlock).
  std::size_t ahead;
  std::optional<session_info> first;  ///< The oldest of them, when the engine could tell.
  wall_time since{};                  ///< When that one asked, though it holds.
  duration waited;                    ///< Since the call.
};

/// A lock was given back by release() or its destructor.
struct released {
  lock_name name;
  holdfast::token token;
  duration held;  ///< From the grant to the release.
};

/// A held lock is over although nobody released it. Where each lock has a lease of its own
/// (Redlock) the session may live on.
struct lost {
  lock_name name;
  holdfast::token token;
  loss_cause cause;
  std::string reason;  ///< A sentence for people; says so where this process was late itself.
};

/// A session's state changed.
struct session_changed {
  session_id id;
  session_state state;
  duration remaining;  ///< Until its locks end; zero once it is final.
  std::string reason;  ///< A sentence for people; empty for attached.
};

/// A heartbeat was answered, or was given up.
struct beat {
  session_id id;
  bool acknowledged;
  duration took;       ///< From sending it.
  duration remaining;  ///< Lease left at that moment, the early warning of trouble.
};

/// Another session's record was removed by this one.
struct took_over {
  session_id dead;
  bool broken;  ///< True: its life lock was free (proven dead). False: it was silent for its ttl.
};

}  // namespace event

/// Receives what happens to a session and its locks. Override what you care for.
///
/// Called from the thread that caused the event, from a thread of the library, or from one of the
/// program's that is blocked in a call of the library (see session), one event at a time for one
/// session's state but concurrently for different locks, and never while the library holds a mutex:
/// a callback may call back into the session, and close it; see there for what is refused. It must
/// not block, for a blocked callback delays later events (never a lock's own check(), which asks
/// nobody).
///
/// The observer is kept alive by the session; it is not called any more once close() has returned,
/// unless that was called on a thread of the library or inside an observer, where nothing is waited
/// for.
class HOLDFAST_EXPORT observer {
 public:
  observer() = default;
  observer(const observer&) = delete;
  observer& operator=(const observer&) = delete;
  virtual ~observer();

  /// Before acquire() returns, or before its callback runs.
  virtual void on(const event::granted&) noexcept {}
  /// When the wait begins, and again when a look finds another number of those ahead.
  virtual void on(const event::waiting&) noexcept {}
  /// When the store has confirmed the release; a release without an answer sends no event.
  virtual void on(const event::released&) noexcept {}
  /// After lock::lost() was signalled: reaction belongs there, record keeping here.
  virtual void on(const event::lost&) noexcept {}
  /// With every change of session_state.
  virtual void on(const event::session_changed&) noexcept {}
  /// About three times in a ttl while the session is open.
  virtual void on(const event::beat&) noexcept {}
  /// When this session removed the record of another that was dead or silent.
  virtual void on(const event::took_over&) noexcept {}
};

}  // namespace holdfast
