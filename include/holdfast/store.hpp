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

class election;

namespace client {
class operator_view;
}

/// What denying a session did. It holds a duration and not a moment, since only durations cross
/// from one machine to another.
struct denial {
  bool already{};  ///< It was denied before; nothing was changed.
  /// Its locks are free at the latest this long after the first waiter, or this call, has seen
  /// the denied record. On Redlock with an even number of nodes, or with some away, up to one ttl
  /// later: nodes that the deny did not reach are renewed until its lease ends.
  duration free_within{};
  owner_info owner{};  ///< Its owner, as its record says; empty when that could not be read.
};

/// good: as it should be. warning: it works today and may not tomorrow. fault: locks do not work.
enum class severity : std::uint8_t { good, warning, fault };

/// "good", "warning" or "fault".
HOLDFAST_EXPORT const char* name_of(severity s) noexcept;

/// A number of a finding's text, for programs.
struct figure {
  std::string name;  ///< With its unit: "max_ttl_s".
  double value{};    ///< Whole ones, up to 2^53, are exact.
};

/// One result of a diagnosis.
struct finding {
  holdfast::severity severity{holdfast::severity::good};
  std::string subject;  ///< What was examined, one or two words: "file system", "token floor".
  std::string text;     ///< What was found, and what to do unless it is good.
  std::vector<figure> figures{};  ///< What of it is a number; mostly none. More may come.
};

/// What store::find found.
struct presence {
  std::string url;       ///< Without secrets. One store may have several.
  bool there{};          ///< Something is at its place; opening shows whether it is sound.
  std::string obstacle;  ///< Why opening could not make it; empty when it could or it is there.
};

/// Examines what the library needs of this machine (clocks, timers, boot id), without a store.
HOLDFAST_EXPORT std::vector<finding> diagnose_machine();

/// An operator's view of a store: list, deny, break, diagnose, and open sessions.
///
/// It holds no locks and keeps nothing alive. In a forked child every call that asks the store
/// reports `lost`. On a thread of the library, as in a completion, every call that would have to
/// wait for the store is refused with `would_block`; destroying it is allowed there too.
///
/// Thread safety: every function may be called from any number of threads at once, except that
/// destroying, moving and assigning need the caller's own order. A moved-from store may be
/// destroyed and assigned; any other use is a programmer's error and stops the program.
class HOLDFAST_EXPORT store {
 public:
  /// Opens a store, and with missing::create makes it if it does not exist. URLs and errors: as
  /// holdfast::open.
  static result<store> open(std::string_view url, missing if_missing = missing::create);
  /// Looks whether a store exists, without opening or making it.
  /// Errors: `invalid_argument` and `unsupported`, about the URL.
  static result<presence> find(std::string_view url);

  /// Takes the view over; `other` may only be destroyed or assigned afterwards.
  store(store&& other) noexcept;
  /// Drops the view that was held before.
  store& operator=(store&& other) noexcept;
  /// Sessions opened through it stay open; the store's files are closed with the last of them.
  ~store();

  /// The store's URL without secrets. One store may have several: compare identity().
  const std::string& url() const noexcept;

  /// Which store this is: storage that refuses stale tokens is bound to it.
  ///
  /// Errors:
  /// - `unavailable`: it has to be asked for and nobody answers in time; or the store is named by
  ///   a loopback address, and this machine cannot be told from others.
  /// - `invalid_argument`: its text has more than 1,024 bytes (some 30 nodes with long names).
  /// - `would_block`: on `etcd://`, a thread of the library would have to wait.
  result<store_identity> identity() const;

  /// Whether its locks have tokens, which elections and storage that refuses stale holders need.
  /// False only for `redlock://` with `tokens=off`. No I/O.
  bool gives_tokens() const noexcept;

  /// Opens a session on this store. The session does not need the store object afterwards.
  /// Errors: as holdfast::open, without those of the URL.
  result<session> open_session(session_options options = {});

  /// Lists all locks and sessions: one consistent picture, except for large `redis://` stores
  /// (see snapshot). Entries whose session has no record any more are left out.
  ///
  /// Errors: `unavailable`, `damaged`; on Redlock also
  /// - `not_initialised`: the nodes were never set up.
  /// - `invalid_argument`: too few nodes let this user look, or too many are no nodes of this
  ///   URL's store.
  result<snapshot> list();

  /// Waits until what list() shows may have changed since the last list() or wait_for_change() of
  /// this object, for at most `wait` and the look that is under way then. Zero asks once. Returns
  /// true when it may have changed, which includes that it has not; false when the time is over
  /// or stop was requested. It looks up to 20 times a second and for at most a tenth of its time,
  /// see snapshot::rest.
  ///
  /// Errors: as list(); `invalid_argument` for a negative wait.
  result<bool> wait_for_change(duration wait, std::stop_token stop = {});

  /// Denies a session: from now on its heartbeats are refused, and its locks end when its ttl has
  /// run out for everybody. Nothing is deleted by force, so a holder that still runs stops first.
  /// Denying twice changes nothing. On Redlock the record stays for the store's max_ttl, also when
  /// the session is closed: it is still listed then.
  ///
  /// Errors:
  /// - `invalid_argument`: no such session, or `by` or `why` over 256 bytes or with control
  ///   characters.
  /// - `unavailable`: the store does not answer.
  /// - `outcome_unknown`: no answer came, or on Redlock too few; it may be denied now. Repeat it.
  /// - `damaged`: the record of the session, or the store's.
  /// - `unsupported`: on Redlock, there are no sessions with `tokens=off`, and the lock of
  ///   another client that has such an id has none.
  result<denial> deny(session_id id, std::string by, std::string why);

  /// Removes a session whose processes are provably dead on this host; its locks are free at
  /// once. The only proof is that its life lock could be taken. Returns its owner, as its record
  /// said.
  ///
  /// Errors:
  /// - `busy`: it is alive, or its life cannot be judged here; the message says which, and what
  ///   to do.
  /// - `invalid_argument`: no such session.
  /// - `unavailable`: the store does not answer.
  /// - `outcome_unknown`: look whether it is still listed.
  /// - `damaged`: the record of the session, or the store's.
  /// - `unsupported`: on Redlock, where locks end by themselves.
  result<owner_info> break_session(session_id id);

  /// Examines everything an operator can repair: configuration, permissions, file system, stuck
  /// processes, and what diagnose_machine() examines. Changes nothing. Errors: only when the
  /// store cannot be examined.
  result<std::vector<finding>> diagnose();

  /// Opens a session, measures heartbeats in it for at most 2 s, and closes it. The finding names
  /// the smallest safe ttl, by which a session survives four times the slowest heartbeat and any
  /// known failover of the store, and how long waiters wait for the lock of a holder that is
  /// gone. It does not see a network or a machine that is at times much slower than now.
  ///
  /// The finding is a warning when `intended` (not set: the store's default) is below the
  /// smallest safe ttl, and a fault when no session may have it. `early` returns how long before
  /// the end of its lease a holder with the given ttl stops; the smallest safe ttl is longer by
  /// that.
  ///
  /// Errors: those of a session that cannot be opened or kept; `invalid_argument` for a ttl of
  /// zero or less.
  result<finding> advise_ttl(std::optional<duration> intended = std::nullopt,
                             const std::function<duration(duration ttl)>& early = {});

 private:
  friend class election;
  explicit store(std::shared_ptr<client::operator_view> view) noexcept;
  client::operator_view& held() const noexcept;

  std::shared_ptr<client::operator_view> view_;
};

}  // namespace holdfast
