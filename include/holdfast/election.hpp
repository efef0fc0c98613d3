#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/export.hpp>
#include <holdfast/lock.hpp>
#include <holdfast/lock_name.hpp>
#include <holdfast/observer.hpp>
#include <holdfast/session.hpp>
#include <holdfast/session_id.hpp>
#include <holdfast/snapshot.hpp>
#include <holdfast/store.hpp>
#include <holdfast/token.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

/// \file
/// Elections: one of many candidates leads, and every client can read the value that it
/// published.

namespace holdfast {

/// How to campaign. `{}` waits until elected.
struct campaign_options {
  /// The ttl of the session, and so how long candidates wait for a leader that hangs; see
  /// session_options::ttl.
  std::optional<duration> ttl{};

  /// How long to wait while another candidate leads. Zero tries once; negative is
  /// `invalid_argument`.
  duration wait{forever};

  /// When stop is requested the campaign ends with `cancelled`, and is not elected. As for
  /// acquire_options::stop, but the opening of its session cannot be cancelled.
  std::stop_token stop{};

  std::string program{};                           ///< As in session_options.
  std::string instance{};                          ///< As in session_options.
  std::shared_ptr<holdfast::observer> observer{};  ///< As in session_options.
};

/// The leader of an election, as the store showed it at one moment.
struct leader {
  session_id session;
  /// Grows from leader to leader; zero in a store without tokens. On Redlock it may be larger
  /// than the leader's own token once nodes have lost their state: fence with
  /// leadership::fencing_token().
  token term;
  std::string value;  ///< What it published when it campaigned.
  owner_info owner;   ///< Shown to people.

  /// The same leader in the same term.
  friend bool operator==(const leader& a, const leader& b) {
    return a.session == b.session && a.term == b.term;
  }
};

/// The leader of the election `name` in this snapshot of its store. Empty when nobody leads, and
/// also when the leader's processes are provably gone from this host.
HOLDFAST_EXPORT std::optional<leader> leader_in(const snapshot& all, const lock_name& name);

/// What an elected candidate holds: it leads until it resigns or loses its lease. Move-only.
///
/// |                    | check(needed)  | resign()   | destructor       |
/// |--------------------|----------------|------------|------------------|
/// | leads, enough left | ok             | resigned   | resigns, bounded |
/// | leads, less left   | errc::expiring | resigned   | resigns, bounded |
/// | lost               | errc::lost     | errc::lost | reports nothing  |
///
/// It is an exclusive lock in a session of its own, and is lost as a lock is: what holdfast::lock
/// says about loss, paused processes and fencing applies. A leader must stop its work when lost()
/// is signalled.
///
/// What it does **not** promise: that no other process believes that it leads. A leader that was
/// paused beyond its lease notices that late: send fencing_token() with every write, and let the
/// storage refuse an older one.
///
/// Thread safety: as holdfast::lock.
class [[nodiscard]] HOLDFAST_EXPORT leadership {
 public:
  /// Takes the leadership over; `other` may only be destroyed or assigned afterwards.
  leadership(leadership&& other) noexcept = default;
  /// Resigns from what was led before, as the destructor does.
  leadership& operator=(leadership&& other) noexcept;
  /// Resigns and reports nothing; see lock::~lock.
  ~leadership() = default;

  /// The token of this leadership: larger than that of every earlier leader of this election.
  /// Zero in a store without tokens.
  token term() const noexcept { return lock_.token(); }
  /// The term together with its election and store, for fences and guards. Errors: as
  /// lock::fencing_token().
  result<holdfast::fencing_token> fencing_token() const { return lock_.fencing_token(); }
  /// The id that appears in `leader::session`.
  const holdfast::session_id& session_id() const noexcept { return session_.id(); }
  /// How long this process may still act as the leader; zero once lost.
  duration remaining() const noexcept { return lock_.remaining(); }
  /// Call before each step that only the leader may do; see lock::check(). Errors: as there.
  result<void> check(duration needed = duration::zero()) const noexcept {
    return lock_.check(needed);
  }
  /// Stop is requested when the leadership is lost, not when it is resigned; see lock::lost().
  std::stop_token lost() const noexcept { return lock_.lost(); }
  /// See lock::on_lost().
  void on_lost(std::function<void(const error&)> f) { lock_.on_lost(std::move(f)); }

  /// Gives the leadership back, so that the next candidate leads. What it calls, as its observer,
  /// may destroy this object. Errors: as lock::release().
  result<void> resign() &&;
  void resign() & = delete;  ///< Write std::move(l).resign(): it ends the leadership.

 private:
  friend class election;
  leadership(holdfast::session s, lock l) noexcept : session_(std::move(s)), lock_(std::move(l)) {}

  holdfast::session session_;
  lock lock_;
};

template <>
inline constexpr bool detail::has_to_be_kept<leadership> = true;

/// An election among all that campaign for the same name in the same store.
///
/// The election `a` is the lock `a`: candidates wait in its queue, in each engine's own order,
/// and its exclusive holder leads. Each candidacy has a session of its own, whose label is the
/// published value. So it ends alone, and `holdfast ls`, `deny` and `break` work on it.
///
/// What it does **not** promise: current() and wait_for_other() return what the store shows,
/// which may be over when it is read. A leader that hung, was denied or died on another host is
/// returned until a candidate comes and takes its place; on Redlock until its ttl is over. To be
/// safe against two leaders, let the storage compare terms.
///
/// Thread safety: every function may be called from any number of threads at once, except that
/// destroying, moving and assigning need the caller's own order. A moved-from election may be
/// destroyed and assigned; any other use is a programmer's error and stops the program.
class HOLDFAST_EXPORT election {
 public:
  /// The limit of a published value, in bytes.
  static constexpr std::size_t value_max = 256;

  /// On a store that is open already. An invalid name is reported by the first campaign().
  election(store s, lock_name name) noexcept : store_(std::move(s)), name_(std::move(name)) {}

  /// Opens the store, or makes it. Errors: as holdfast::open; `invalid_argument` for the name.
  static result<election> open(std::string_view url, lock_name name);

  /// The name that the candidates campaign for.
  const lock_name& name() const noexcept;
  /// The store's URL without secrets, in the form in which equal stores are equal.
  const std::string& url() const noexcept;

  /// Campaigns with `value` (at most value_max bytes without control characters; may be empty),
  /// and blocks until elected, for at most `options.wait`.
  ///
  /// Errors:
  /// - `busy`: the wait is zero and another candidate leads.
  /// - `timed_out`, `cancelled`: the wait ended first.
  /// - `lost`, `denied`: the candidacy ended while it waited.
  /// - `unsupported`: a store that gives no tokens keeps no value (Redlock with `?tokens=off`).
  /// - `mode_conflict`: the name is in use with permits.
  /// - `would_block`, `invalid_argument`, `unavailable`, `outcome_unknown`, `damaged`,
  ///   `not_initialised`: as store::open_session and session::acquire.
  result<leadership> campaign(std::string value, campaign_options options = {});

  /// The present leader; empty when nobody leads, as far as the store can be read. Where locks
  /// may be hidden, snapshot::lacks of store::list() says so.
  ///
  /// Errors: as store::list(); `unsupported` when the holder is no candidate and publishes
  /// nothing (Redlock with `?tokens=off`, or another Redlock client).
  result<std::optional<leader>> current();

  /// Waits for at most `wait` until current() would return something other than `known`. Returns
  /// the present leader, which is `known` when the time is over or stop was requested. Zero asks
  /// once. Errors: as current(); `invalid_argument` for a negative wait.
  result<std::optional<leader>> wait_for_other(const std::optional<leader>& known, duration wait,
                                               std::stop_token stop = {});

 private:
  struct picture {
    std::optional<leader> who;
    duration rest;
  };
  result<picture> look();
  void must_be_held() const noexcept;

  store store_;
  lock_name name_;
};

}  // namespace holdfast
