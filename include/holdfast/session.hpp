#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/completion.hpp>
#include <holdfast/error.hpp>
#include <holdfast/export.hpp>
#include <holdfast/lock.hpp>
#include <holdfast/lock_name.hpp>
#include <holdfast/mode.hpp>
#include <holdfast/observer.hpp>
#include <holdfast/session_id.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

namespace client {
class session_core;
}  // namespace client

/// How to open a session. Every member has a default that suits a first try.
///
/// Choosing a ttl: it is how long others wait for a holder that hangs, and how long the store may
/// fail to answer before the holder has to stop. A holder whose process dies is replaced at once,
/// whatever the ttl is, by who waits on the same host; on `memory:` and `redlock://` only its ttl
/// ends what it held.
struct session_options {
  /// The most bytes of each text that is shown to people.
  static constexpr std::size_t text_max = 256;

  /// How long the session lives without an acknowledged heartbeat, and so how long others wait for
  /// a holder that hangs. Not set: the `ttl` of the URL, else 30 s, or the store's max_ttl where
  /// that is shorter. From 100 ms (etcd, ZooKeeper: twice the URL's node_timeout, 4 s by default)
  /// to 1 h and at most the store's max_ttl, and on Redlock at least twice a node_timeout of the
  /// URL; else `invalid_argument`, also for zero, which is not a time to live.
  std::optional<duration> ttl{};

  std::string program{};   ///< Shown to people; empty: the file name of this program.
  std::string instance{};  ///< Shown to people: which instance of the program; may be empty.
  std::string label{};     ///< Shown to people: free text; may be empty. At most 256 bytes each.

  /// Receives events until close() returns (see observer); none when empty.
  std::shared_ptr<holdfast::observer> observer{};
};

/// How to acquire. `{}` tries once, alone (exclusive), and cannot be cancelled.
struct acquire_options {
  /// With whom it may be shared; see holdfast::mode for who waits for whom and what is refused.
  holdfast::mode mode = holdfast::mode::exclusive();

  /// How long to wait while somebody else holds it. Zero tries once and leaves nothing behind;
  /// `holdfast::forever` waits until granted, cancelled or the session ends. Negative is refused.
  /// See session::acquire for what a store that does not answer adds.
  duration wait{};

  /// Stop is requested: the wait ends as if its time were up, with `cancelled`; nothing is held.
  std::stop_token stop{};
};

/// How a session stands at one moment.
///
/// It is a picture, not a promise: for what to do next ask lock::check(), which cannot be late.
struct session_status {
  session_state state;  ///< See session_state for what leads from one to another.
  duration remaining;   ///< Until its locks end if no further heartbeat is acknowledged.
  std::string reason;   ///< Why it is endangered or final, a sentence; empty while attached.
};

/// What a client keeps alive by heartbeats. Every lock belongs to one session and ends with it.
///
/// See session_state for its states. A session that has expired or was denied is final and is never
/// opened again by the library: the program decides whether to open a new one.
///
/// What it does **not** promise:
/// - To survive fork(2). In the child every call on an inherited session or lock answers `lost`,
///   and destructors do nothing. The child keeps the file description that proves life: close its
///   descriptors or exec. A child that is forked inside a function that the library called on one
///   of its threads must exec or _exit there; to return from that function stops it. Those threads
///   block all signals but the ones of a fault (SIGSEGV, SIGBUS, ...), and a program keeps that
///   across exec: set the mask first (`sigprocmask`), or it is not ended by SIGTERM.
/// - To let go of anything after main() has returned. On stores with servers an object with static
///   storage leaves its locks to the ttl, its calls may answer `unavailable`, and a completion that
///   still waits may never run.
/// - To let a program end while a callback of its own blocks. What that uses may have static
///   storage, so exit(), also behind main(), waits for one that runs on a thread of the library:
///   for ever, if it waits for a mutex that the ending thread has.
/// - Anything when memory runs out. A call that throws `std::bad_alloc` may leave its lock held,
///   and the name `busy`, until the session is closed. On the library's own threads, and while a
///   command is sent, that ends the process.
///
/// On a thread of the library, where completions, observers and on_lost() run, nothing waits: it
/// may be the one that brings the answers. There close() and the destructor only begin, and a call
/// that has no answer at once is refused with `would_block`: acquire() without a callback,
/// open() and what a `store` asks. Stores without a server (`local:`, `memory:`) answer at once.
///
/// A thread of the program that is blocked in a call of the library may do the work of such a
/// thread meanwhile, also for other sessions: then completions, observers and heartbeats run on its
/// stack and with its priority. One of low priority or with a small stack uses the callback forms.
///
/// Thread safety: every function may be called from any number of threads at once, except that
/// destroying, moving and assigning need the caller's own order. Locks may outlive the session
/// object; they end when the session is closed. Using a moved-from session is a programmer's error
/// and stops the program; it may be destroyed and assigned.
class HOLDFAST_EXPORT session {
 public:
  /// Takes the session over; `other` may only be destroyed or assigned afterwards.
  session(session&& other) noexcept;
  /// Closes what was open before, as the destructor does.
  session& operator=(session&&) noexcept;
  /// Closes the session without telling how that went: noexcept and bounded, see lock::~lock.
  /// Completions may run after it has returned, see close().
  ~session();

  /// Who this session is in the store: what `holdfast ls --sessions` and store::deny() name.
  const session_id& id() const noexcept;
  /// The store's URL without secrets. One store may have several: compare store::identity().
  const std::string& url() const noexcept;
  /// The state, the time that is left and the reason, taken together at one moment. No I/O.
  session_status status() const;
  /// How long the session's locks may still be used; zero once final.
  duration remaining() const noexcept;
  /// The time to live it was opened with: what others wait for when it hangs.
  duration ttl() const noexcept;
  /// Stop is requested when the session becomes final. See lock::lost() for the thread.
  std::stop_token lost() const noexcept;

  /// Acquires `name` and blocks for at most `options.wait`, and for the request that is under way
  /// then, or when stop is requested: on a store that does not answer for one node_timeout of its
  /// URL. A store that answered it is asked once more, to leave the queue, for as long at most. A
  /// try that is not answered asks four times more whether it left an entry. What is not known to
  /// be gone then is removed behind the call, and until it is the name is `busy` for this session.
  ///
  /// Errors: `busy` (wait is zero and somebody else holds it, or this session holds or awaits it
  /// already, whatever the wait: there is no self-deadlock; so too for a moment after a release
  /// that the store has not confirmed), `timed_out`, `cancelled`, `invalid_argument` (the name, the
  /// wait, permits), `mode_conflict` (live entries of the name have another mode: at once, whatever
  /// the wait, unless all of their holders are dead, which may take a ttl and a second call to
  /// know), `would_block` (a thread of the library would have to wait), `unsupported` (the engine
  /// has no such mode), `unavailable` (also at once, whatever the wait, when 10000 hold or await
  /// the name), `outcome_unknown` (the entry may be there; it dies with the session), `lost` and
  /// `denied` (the session is over), `damaged`.
  result<lock> acquire(lock_name name, acquire_options options = {});

  /// acquire() that tries once: `busy` when it is not free now. An entry that has to wait is never
  /// left in the queue, so a series of tries delays nobody. Errors: as acquire(), but `timed_out`.
  result<lock> try_acquire(lock_name name, holdfast::mode mode = holdfast::mode::exclusive());

  /// The same as a callback: `done` runs exactly once, on this thread before the call returns, on a
  /// thread of the library, or on one of the program's that is blocked in a call of the library;
  /// and never under a mutex of the library. It must not block or throw, and may not be empty. On
  /// `local:` and `memory:`, which answer at once, a callback that acquires, whose callback
  /// releases, whose callback acquires, and so on, recurses: post the next turn to a thread of your
  /// own (async_acquire() does).
  void acquire(lock_name name, acquire_options options, completion<lock> done);

  /// All of `names` or none. They are taken one after the other in byte order, so two callers can
  /// never wait for each other in a circle; `options.wait` is the limit for all of them together.
  /// The locks come in the order of `names`, and each was held after the last one was granted.
  /// Errors: as acquire(), `lost` also when one was lost while others were waited for (Redlock),
  /// and `invalid_argument` for an empty list or a name given twice; whatever was taken is given
  /// back first.
  result<std::vector<lock>> acquire_all(std::vector<lock_name> names, acquire_options options = {});

  /// Gives every lock back and ends the session. Locks that are still held are lost (`closed`).
  /// Closing twice is a success. Errors: `unavailable` or `outcome_unknown` when the store did not
  /// answer: then others take the locks over when the ttl has run out. On a thread of the library,
  /// which must not wait, `outcome_unknown` unless the answer is there at once: the session is
  /// over, its observer hears so later, and the record goes when the store answers.
  ///
  /// It ends what still waits, and does not wait for the completions of that: they may run after it
  /// has returned, so what they use has to outlive them and not the session.
  result<void> close();

  /// The file descriptor whose lock proves that this session lives (see docs/protocol.md), or -1
  /// where the engine has none. For supervisors: a child that inherits it keeps the session's
  /// locks from being broken until that child has ended too. Owned by the session; never close it.
  int life_descriptor() const noexcept;

 private:
  friend class store;
  friend class client::session_core;
  explicit session(std::shared_ptr<client::session_core> core) noexcept;

  std::shared_ptr<client::session_core> core_;
};

/// Opens the store at `url` and a session on it.
///
/// `local:PATH` is the embedded engine (an empty PATH means the default: `/var/lib/holdfast` for
/// root, else `$XDG_STATE_HOME/holdfast` or `~/.local/state/holdfast`); `memory:NAME` is for tests,
/// shared by everyone in this process who opens it; `redis://HOST`, `etcd://HOST,HOST` and
/// `zookeeper://HOST,HOST` keep sessions on servers; `redlock://HOST,HOST,HOST` is a majority of
/// independent Redis servers, set up once by redlock::init() in holdfast/redlock.hpp. See
/// docs/stores.md for the grammar.
///
/// Errors: `invalid_argument` (URL, options, servers that may not be nodes), `would_block` (a
/// thread of the library), `unsupported` (a file system without the needed guarantees, an engine
/// that was not built in), `unavailable` (cannot be opened, permissions, a full disk, too few nodes
/// vote), `not_initialised` (nodes of `redlock://` that were never set up), `damaged` (another
/// format, a newer version, a corrupt file).
HOLDFAST_EXPORT result<session> open(std::string_view url, session_options options = {});

}  // namespace holdfast
