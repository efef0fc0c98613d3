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

/// The state of a session.
///
/// |            | beat acknowledged | unanswered for ttl/3 | deadline passed | denied | close() |
/// |------------|-------------------|----------------------|-----------------|--------|---------|
/// | attached   | attached          | endangered           | expired         | denied | closed  |
/// | endangered | attached          | endangered           | expired         | denied | closed  |
/// | expired, denied, closed | final: nothing changes them, no beat is ever sent again     ||||
///
/// Locks are held only while the session is attached or endangered.
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

/// The events that an observer receives: plain values that may be kept.
///
/// - For one lock: `waiting` any number of times, then `granted`, then at most one of `released`
///   and `lost`; neither, if the store did not answer the release, if the session was closed before
///   the event was sent, or if the lock was destroyed in the moment in which its lease ended.
/// - For one session: `session_changed` once for every change of its state, the final state last.
namespace event {

/// A lock was granted to this session.
struct granted {
  lock_name name;
  holdfast::token token;  ///< As lock::token().
  holdfast::mode mode;    ///< The mode that was asked for.
  duration waited;        ///< From the call to the grant; near zero without contention.
};

/// An acquire found the lock held and waits. Sent again when a later look at the store finds
/// another number of entries ahead; the next look is seconds later unless a notification comes
/// before.
struct waiting {
  lock_name name;
  /// Live entries before this one, holders included. Zero: the store does not report it
  /// (Redlock).
  std::size_t ahead;
  std::optional<session_info> first;  ///< The oldest of them, if the engine knows it.
  wall_time since{};                  ///< When that one arrived, also if it holds.
  duration waited;                    ///< Since the call.
};

/// A lock was given back by release() or its destructor.
struct released {
  lock_name name;
  holdfast::token token;
  duration held;  ///< From the grant to the release.
};

/// A held lock is over without a release. Where each lock has a lease of its own (Redlock) the
/// session may live on.
struct lost {
  lock_name name;
  holdfast::token token;
  loss_cause cause;
  std::string reason;  ///< A sentence for people; it says so if this process was late itself.
};

/// A session's state changed.
struct session_changed {
  session_id id;
  session_state state;
  duration remaining;  ///< Until its locks end; zero in a final state.
  std::string reason;  ///< A sentence for people; empty for attached.
};

/// A heartbeat was answered, or was given up.
struct beat {
  session_id id;
  bool acknowledged;
  duration took;       ///< Since it was sent.
  duration remaining;  ///< Lease left at that moment: an early warning of trouble.
};

/// This session removed another session's record.
struct took_over {
  session_id dead;
  bool broken;  ///< True: its life lock was free (proven dead). False: it was silent for its ttl.
};

}  // namespace event

/// Receives the events of a session and its locks. Override the functions that you need, beside
/// `using observer::on;` where compilers warn of those that are hidden.
///
/// Called from the thread that caused the event, from a thread of the library, or from one of the
/// program's that is blocked in a call of the library (see session). Events of one session's
/// state come one at a time, those of different locks concurrently, and none while the library
/// holds a mutex: a callback may call the session, and close it; see there for what is refused.
/// It must not block: a blocked callback delays later events (but never a lock's check(), which
/// asks nobody).
///
/// The session keeps the observer alive until it is closed; one that owns its session lives until
/// somebody calls close(). Once that has returned the observer is not called any more, and the
/// session has let go of it, unless close() was called on a thread of the library or inside an
/// observer, where it does not wait: then the session lets go behind the last call.
class HOLDFAST_EXPORT observer {
 public:
  observer() = default;
  observer(const observer&) = delete;
  observer& operator=(const observer&) = delete;
  virtual ~observer();

  /// Before acquire() returns, or before its callback runs.
  virtual void on(const event::granted&) noexcept {}
  /// When the wait begins, and again when a look finds another number of entries ahead.
  virtual void on(const event::waiting&) noexcept {}
  /// When the store has confirmed the release; a release without an answer sends no event.
  virtual void on(const event::released&) noexcept {}
  /// After lock::lost() was signalled: react there, keep records here.
  virtual void on(const event::lost&) noexcept {}
  /// After every change of session_state.
  virtual void on(const event::session_changed&) noexcept {}
  /// About three times per ttl while the session is open.
  virtual void on(const event::beat&) noexcept {}
  /// After this session removed the record of one that was dead or silent.
  virtual void on(const event::took_over&) noexcept {}
};

}  // namespace holdfast
