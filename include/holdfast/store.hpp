#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/export.hpp>
#include <holdfast/fencing_token.hpp>
#include <holdfast/missing.hpp>
#include <holdfast/session.hpp>
#include <holdfast/session_id.hpp>
#include <holdfast/snapshot.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

namespace client {
class operator_view;
}

/// What denying a session did.
///
/// It is a duration and not a moment because only durations cross from one machine to another.
struct denial {
  bool already{};          ///< It was denied before; nothing was changed.
  duration free_within{};  ///< Its locks are free at the latest this long after the first waiter,
                           ///< or this call, has seen the denied record. On Redlock with an even
                           ///< number of nodes, or some away, up to a ttl later: the nodes that
                           ///< were not denied at are renewed until its lease ends.
  owner_info owner{};      ///< Who it is, as its record says; empty when that could not be read.
};

/// good: as it should be. warning: works today, may not tomorrow. fault: locks do not work here.
enum class severity : std::uint8_t { good, warning, fault };

/// "good", "warning" or "fault".
HOLDFAST_EXPORT const char* name_of(severity s) noexcept;

/// One line of a diagnosis.
struct finding {
  holdfast::severity severity{holdfast::severity::good};
  std::string subject;  ///< What was looked at, one or two words: "file system", "token floor".
  std::string text;     ///< What was seen, and what to do unless it is good.
};

/// What store::find saw.
struct presence {
  std::string url;  ///< Without secrets. One store may have several.
  bool there{};     ///< Something is at its place; whether it is sound shows when it is opened.
  std::string obstacle;  ///< Why opening could not make it; empty when it could or it is there.
};

/// What this machine gives that the library builds on (clocks, timers, boot id), without a store.
HOLDFAST_EXPORT std::vector<finding> diagnose_machine();

/// A place where locks live, seen by an operator: look, deny, break, diagnose, open sessions.
///
/// It holds no locks itself and keeps nothing alive. In a forked child whatever asks the store
/// answers `lost`. It may be destroyed anywhere; on a thread of the library, as in a completion,
/// every call that would have to wait for the store is refused with `would_block`.
///
/// Thread safety: every function may be called from any number of threads at once, except that
/// destroying, moving and assigning need the caller's own order.
class HOLDFAST_EXPORT store {
 public:
  /// See holdfast::open for URLs and errors.
  static result<store> open(std::string_view url, missing if_missing = missing::create);
  /// Looks whether a store is there, without opening or making it. Errors: `invalid_argument` and
  /// `unsupported`, about the URL.
  static result<presence> find(std::string_view url);

  /// Takes the view over; `other` may only be destroyed or assigned afterwards.
  store(store&& other) noexcept;
  /// Lets go of the store that was seen before.
  store& operator=(store&& other) noexcept;
  /// Sessions that were opened through it live on; the store's files close with the last of them.
  ~store();

  /// The store's URL without secrets. One store may have several: compare identity().
  const std::string& url() const noexcept;

  /// Which store this is, for tokens: what storage that refuses stale ones is bound to.
  /// Errors: `unavailable` when it has to be asked for and nobody answers in time.
  result<store_identity> identity() const;

  /// Whether its locks have tokens, which storage that refuses stale holders needs, and elections:
  /// false of `redlock://` with `tokens=off` alone. Asks nobody.
  bool gives_tokens() const noexcept;

  /// Opens a session on this store; it does not need the store object afterwards.
  /// Errors: as holdfast::open, without those of the URL.
  result<session> open_session(session_options options = {});

  /// Everything that is there: one consistent picture, but for large `redis://` stores (snapshot);
  /// entries whose session has no record any more are left out.
  /// Errors: `unavailable`, `damaged`; on Redlock also `not_initialised`, and `invalid_argument`
  /// (too few nodes let this user look, or too many are no nodes of this URL's store).
  result<snapshot> list();

  /// Waits until what list() shows may have changed since the last list() or wait_for_change() of
  /// this object, at most `wait` and the look under way then: true when it may have, false when the
  /// time is over or `stop` was requested. May be true without a change. Zero asks once.
  /// It looks up to 20 times a second, and at most a tenth of its time: snapshot::rest. Errors: as
  /// list(); `invalid_argument` for a negative wait.
  result<bool> wait_for_change(duration wait, std::stop_token stop = {});

  /// Ends a session's right to beat, by blacklist: from now on its heartbeats are refused, and its
  /// locks fall when its ttl has run out for everybody. Nothing is deleted by force, so a holder
  /// that still runs stops first. Denying twice changes nothing.
  /// Errors: `invalid_argument` (no such session; `by` or `why` over 256 bytes), `unavailable`,
  /// `outcome_unknown` (Redlock: too few servers answered, and some deny it now; repeat it),
  /// `unsupported` (Redlock: with `tokens=off` there are no sessions, and a lock of another client
  /// that has such an id has none).
  result<denial> deny(session_id id, std::string by, std::string why);

  /// Removes a session whose processes are provably dead on this host; its locks are free at once.
  /// Proof is one thing only: its life lock could be taken. Errors: `busy` when it is alive or its
  /// life cannot be judged here (the message says which, and what to do), `invalid_argument` (no
  /// such session), `unavailable`, `outcome_unknown` (look whether it is still listed),
  /// `unsupported` (Redlock: its locks end by themselves).
  /// The value: who it was, as its record said.
  result<owner_info> break_session(session_id id);

  /// Looks at everything an operator can put right: configuration, permissions, file system, stuck
  /// processes, and what diagnose_machine() looks at. Changes nothing. Errors: only when the store
  /// cannot be looked at.
  result<std::vector<finding>> diagnose();

  /// Opens a session, times heartbeats in it for at most 2 s, and closes it. Tells the smallest
  /// safe ttl, by which a session survives four times the slowest of them and any failover of the
  /// store that is known, and how long others wait for the lock of a holder that is gone. A warning
  /// when `intended`, or else the store's default, is below that, a fault when no session may have
  /// it. `early`: how long before the end of its lease somebody with such a ttl stops, as whoever
  /// needs time for that does; the smallest safe ttl is longer then.
  /// What it does not see: a network or a machine that is at times much slower than now.
  /// Errors: those of a session that cannot be opened or kept; `invalid_argument` for a ttl of zero
  /// or less.
  result<finding> advise_ttl(std::optional<duration> intended = std::nullopt,
                             const std::function<duration(duration ttl)>& early = {});

 private:
  explicit store(std::shared_ptr<client::operator_view> view) noexcept;

  std::shared_ptr<client::operator_view> view_;
};

}  // namespace holdfast
