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

class leadership;

namespace client {
class session_core;
}  // namespace client

/// How to open a session. Every member has a default that is good enough for a first try.
///
/// Choosing a ttl: it is how long waiters wait for a holder that hangs, and how long the store
/// may fail to answer before the holder has to stop. A holder whose process dies is replaced at
/// once by a waiter on the same host, whatever the ttl is. On `memory:` and `redlock://` only the
/// ttl ends what it held.
struct session_options {
  /// The limit of each text below, in bytes.
  static constexpr std::size_t text_max = 256;

  /// How long the session lives without an acknowledged heartbeat. Not set: the `ttl` of the URL,
  /// else 30 s, or the store's max_ttl if that is shorter, or the shortest one if that is longer.
  ///
  /// The shortest is 100 ms; on etcd and ZooKeeper twice the URL's node_timeout (4 s by default),
  /// on Redlock also at least twice a node_timeout of the URL. The longest is 1 h or the store's
  /// max_ttl, whichever is less. Anything else, zero included, is `invalid_argument`.
  std::optional<duration> ttl{};

  // Shown to people; each at most text_max bytes without control characters.
  std::string program{};   ///< Empty: the file name of this program.
  std::string instance{};  ///< Which instance of the program; may be empty.
  std::string label{};     ///< Free text; may be empty.

  /// Receives events until close() returns; see observer. Empty: none.
  std::shared_ptr<holdfast::observer> observer{};
};

/// How to acquire. `{}` tries once, in exclusive mode, and cannot be cancelled.
struct acquire_options {
  /// Who may hold it at the same time; see holdfast::mode for what waits and what is refused.
  holdfast::mode mode = holdfast::mode::exclusive();

  /// How long to wait while another session holds it. Zero tries once and leaves nothing behind.
  /// `holdfast::forever` waits until granted, cancelled or the session ends. Negative is
  /// `invalid_argument`: a deadline is `std::max(deadline - clock::now(), duration::zero())`,
  /// which tries once after it. A store that does not answer adds to it: see session::acquire.
  duration wait{};

  /// When stop is requested the wait ends as if its time were up, with `cancelled`: nothing is
  /// held. If the store does not answer a request that is under way then, the result may be
  /// `outcome_unknown` instead, after the time that session::acquire says.
  std::stop_token stop{};
};

/// A snapshot of a session, taken at one moment. It may be out of date when it is read: to decide
/// about the next step ask lock::check(), which cannot be late.
struct session_status {
  session_state state;  ///< See session_state for the table of states.
  duration remaining;   ///< Until its locks end if no further heartbeat is acknowledged.
  std::string reason;   ///< Why it is endangered or final, in a sentence; empty while attached.
};

/// A client's presence in a store, kept alive by heartbeats. Each lock belongs to one session and
/// ends with it. See session_state for the states. An expired or denied session is final: the
/// library never opens it again, the program decides whether to open a new one.
///
/// What it does **not** promise (docs/cpp.md, "fork, exec, exit"):
/// - To survive fork(2). In the child every call on an inherited session or lock reports `lost`,
///   and destructors do nothing. The child keeps the file description that proves life: it must
///   exec or close its descriptors. A child forked in a callback must exec or _exit there.
/// - To release anything after main() has returned, on a store with servers: the ttl ends it.
/// - To let the program end while one of its callbacks blocks: exit() waits for the callback.
/// - Anything when memory runs out. A call that throws `std::bad_alloc` may leave its lock held,
///   and the name `busy`, until the session is closed, and on Redlock for up to a ttl after that.
///   Where nothing can be thrown, as on a thread of the library, while a command is sent and in a
///   destructor, it ends the process.
///
/// Callbacks (docs/cpp.md, "Threads and callbacks") run on a thread of the library, or on one of
/// the program's that is blocked in a call of the library, also for other sessions. On a thread
/// of the library close() and the destructor only begin, and a call that would have to wait
/// (open(), acquire() without a callback, those of `store` that ask it) is refused with
/// `would_block`; `local:` and `memory:` answer at once. `local:` works on the calling thread for
/// that, for at most 2 s, while another process is stopped inside the store: so on_lost(), whose
/// thread reports all losses, must not use it.
///
/// Thread safety: every function may be called from any number of threads at once, except that
/// destroying, moving and assigning need the caller's own order. Locks may outlive the object;
/// they end when the session is closed. A moved-from session may be destroyed and assigned; any
/// other use is a programmer's error and stops the program.
class HOLDFAST_EXPORT session {
 public:
  /// Takes the session over; `other` may only be destroyed or assigned afterwards.
  session(session&& other) noexcept;
  /// Closes what was open before, as the destructor does.
  session& operator=(session&&) noexcept;
  /// Closes the session and reports nothing: noexcept and bounded, see lock::~lock. Completions
  /// may run after it has returned, see close().
  ~session();

  /// Its id in the store: what `holdfast ls --sessions` shows and store::deny() takes.
  const session_id& id() const noexcept;
  /// The store's URL without secrets. One store may have several: compare store::identity().
  const std::string& url() const noexcept;
  /// The state, the time left and the reason, all of one moment. No I/O.
  session_status status() const;
  /// How long the session's locks may still be used; zero once the session is final.
  duration remaining() const noexcept;
  /// The time to live it was opened with: how long waiters wait for it when it hangs.
  duration ttl() const noexcept;
  /// Stop is requested when the session becomes final; see lock::lost() for the thread.
  std::stop_token lost() const noexcept;

  /// Acquires `name`. Blocks for at most `options.wait`, or until stop is requested or the
  /// session ends.
  ///
  /// A store that does not answer adds to that, in units of its URL's node_timeout:
  /// - one for the request that is under way at that moment;
  /// - if the store answered that one, one more for the request to leave the queue;
  /// - for a try (zero wait) without an answer, up to four more requests to remove the entry
  ///   that it may have left;
  /// - on `redlock://`, up to one for the question who has it, when it is refused;
  /// - on `etcd://` and `zookeeper://`, which try another server, as many again for each request,
  ///   and a look at the queue is two requests.
  ///
  /// If the entry may still be there then, the session removes it in the background. Until that
  /// is confirmed, this session gets `busy` for the name.
  ///
  /// Errors:
  /// - `busy`: another session holds it and the wait is zero. Whatever the wait: this session
  ///   holds or awaits the name already (there is no self-deadlock), or a release is not
  ///   confirmed yet.
  /// - `timed_out`, `cancelled`: the wait ended first; nothing is held.
  /// - `invalid_argument`: the name, the wait or the number of permits.
  /// - `mode_conflict`: the live entries of the name have another mode; at once, whatever the
  ///   wait, unless all of their holders are dead, which may take a ttl and a second call to know.
  /// - `would_block`: a thread of the library would have to wait.
  /// - `unsupported`: the engine has no such mode (Redlock: any but exclusive).
  /// - `unavailable`: the store does not answer or cannot work; at once, whatever the wait, when
  ///   10000 hold or await the name.
  /// - `outcome_unknown`: the entry may be there; it ends with the session.
  /// - `lost`, `denied`: the session is over.
  /// - `damaged`: the store's data is corrupt or of another format.
  result<lock> acquire(lock_name name, acquire_options options = {});

  /// acquire() with a wait of zero: `busy` when it is not free now. An entry that would have to
  /// wait is never left in the queue, so repeated tries delay nobody. Errors: as acquire(),
  /// without `timed_out`.
  result<lock> try_acquire(lock_name name, holdfast::mode mode = holdfast::mode::exclusive());

  /// acquire() without blocking: `done` runs exactly once, on this thread before the call
  /// returns, on a thread of the library, or on one of the program's that is blocked in a call of
  /// the library; never under a mutex of the library. It must not block or throw, and must not be
  /// empty.
  ///
  /// On `local:` and `memory:`, which answer at once, callbacks that acquire or release in turn
  /// recurse: post the next turn to a thread of your own, as async_acquire() does.
  void acquire(lock_name name, acquire_options options, completion<lock> done);

  /// Acquires all of `names` or none. They are taken one after the other in byte order, so two
  /// callers never wait for each other in a circle. `options.wait` limits all of them together.
  /// The locks come in the order of `names`; each was still held after the last one was granted.
  ///
  /// Errors: as acquire(), after everything that was taken has been given back; also
  /// - `lost`: one was lost while others were waited for (Redlock).
  /// - `invalid_argument`: an empty list, or a name given twice.
  result<std::vector<lock>> acquire_all(std::vector<lock_name> names, acquire_options options = {});
  /// Write {lock_name("a"), lock_name("b")}: two texts would be the ends of one list of characters.
  template <std::size_t n>
  result<std::vector<lock>> acquire_all(const char* const (&)[n], acquire_options = {}) = delete;

  /// Gives every lock back and ends the session. Locks that are still held are lost (`closed`).
  /// So close, or destroy, a session only when nothing acts under its locks. A session that was
  /// denied keeps others waiting until it is closed or its ttl has run out. Closing twice succeeds.
  /// It ends waits, but does not wait for their completions: these may run after it has returned,
  /// so what they use has to live until then; to outlive the session is not enough.
  ///
  /// Errors:
  /// - `unavailable`, `outcome_unknown`: the store did not answer; others take the locks over
  ///   when the ttl has run out.
  /// - `outcome_unknown`: on a thread of the library, unless the answer is there at once. The
  ///   session is over, its observer is notified later, the record goes when the store answers.
  result<void> close();

  /// The file descriptor whose lock proves that this session lives (docs/protocol.md), or -1
  /// where the engine has none. For supervisors: a child that inherits it keeps the session's
  /// locks from being broken until that child has ended too. The session owns it; never close it.
  int life_descriptor() const noexcept;

 private:
  friend class leadership;
  friend class store;
  friend class client::session_core;
  explicit session(std::shared_ptr<client::session_core> core) noexcept;

  std::shared_ptr<client::session_core> core_;
};

/// Opens the store at `url` and a session on it. Only `url` says which: neither the variable
/// HOLDFAST_STORE nor the files that configure the program `holdfast` are read. docs/stores.md has
/// the grammar:
///
/// | URL                        | store                                                          |
/// |----------------------------|----------------------------------------------------------------|
/// | `local:PATH`               | embedded. An empty PATH: `/var/lib/holdfast` for root, else    |
/// |                            | `$XDG_STATE_HOME/holdfast` or `~/.local/state/holdfast`        |
/// | `memory:NAME`              | for tests; shared by all of this process that open NAME        |
/// | `redis://HOST`             | sessions on a server                                           |
/// | `etcd://HOST,HOST`         | sessions on servers                                            |
/// | `zookeeper://HOST,HOST`    | sessions on servers                                            |
/// | `redlock://HOST,HOST,HOST` | a majority of independent Redis servers, set up once by        |
/// |                            | redlock::init() in holdfast/redlock.hpp                        |
///
/// Blocks until the store has answered, and cannot be cancelled. A store that does not answer ends
/// it after 2 s while it connects, else after about three `node_timeout`s of the URL.
///
/// Errors:
/// - `invalid_argument`: the URL, the options, servers that may not be nodes.
/// - `would_block`: a thread of the library would have to wait.
/// - `unsupported`: a file system without the needed guarantees, an engine that was not built in,
///   TLS for ZooKeeper, or a `redis://` server that has replicas although the URL says nothing of
///   them, or whose data is of a newer version.
/// - `unavailable`: it cannot be opened: permissions, a full disk, too few nodes vote.
/// - `outcome_unknown`: the store did not answer. A record of the session may be there, which
///   holds nothing and ends by itself: open another session.
/// - `not_initialised`: nodes of `redlock://` that were never set up.
/// - `damaged`: another format, a newer version (but for `redis://`), a corrupt file.
HOLDFAST_EXPORT result<session> open(std::string_view url, session_options options = {});

}  // namespace holdfast
