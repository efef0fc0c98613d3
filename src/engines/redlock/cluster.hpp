#pragma once

#include "core/engine.hpp"
#include "core/redlock/admission.hpp"
#include "core/redlock/quorum.hpp"
#include "engines/redlock/replies.hpp"
#include "engines/redlock/settings.hpp"
#include "engines/redlock/stages.hpp"
#include "io/file/life_notes_writer.hpp"
#include "io/net/earliest_timer.hpp"
#include "io/redis/redis_connection.hpp"
#include "io/thread/latch.hpp"
#include "io/thread/loop.hpp"
#include "io/thread/mutex.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::engines::redlock {

using core::redlock::node_index;
using core::redlock::node_set;

/// How long the first operation waits for the connections.
inline constexpr duration ready_limit = std::chrono::milliseconds{2500};
/// In node timeouts: how long nodes that lost nothing take to come back, alone or in one epoch.
inline constexpr int return_timeouts = 16;
/// The number of no connection: theirs are from 1 on.
inline constexpr std::uint64_t no_connection = 0;
/// For what is asked of a node outside an attempt: a node that hangs is put out by its silence.
inline constexpr duration inquiry_limit = std::chrono::seconds{2};

/// Who may vote at one moment: what every request of one attempt is made from. A plain value that
/// many threads share.
struct ballots {
  node_set voters{};   ///< Admitted, all in `epoch`.
  node_set keepers{};  ///< Those that may extend: see admission::keepers().
  std::uint64_t epoch{};
  std::array<std::string, core::redlock::nodes_max> nonces{};
  /// The connections that these facts were read on.
  std::array<std::uint64_t, core::redlock::nodes_max> connections{};
};

/// What the engine answers when the cluster's verdict is this error.
core::status status_of(const error& verdict) noexcept;
core::reply reply_of(const error& verdict);

/// What INFO says about a node. The address, `durable` and the record are not known from it.
core::redlock::node_facts facts_of(const io::redis_facts& server, const settings& set);

/// Hears of connections that come and go; on the loop's thread.
class link_listener {
 public:
  link_listener() = default;
  link_listener(const link_listener&) = delete;
  link_listener& operator=(const link_listener&) = delete;
  virtual ~link_listener() = default;
  virtual void connected(node_index i) = 0;
  virtual void disconnected(node_index i) = 0;
  /// A node says that a lock was released.
  virtual void heard(node_index /*i*/, const news& /*n*/) {}
  /// Sends once more what a connection that is up did not take; true: one still does not.
  virtual bool send_unsent() { return false; }
  /// All of them are gone, and none will come.
  virtual void closed() {}
};

/// The nodes of one store: a connection to each, and the admission machine that says which of them
/// may vote, with everything it wants asked and written.
///
/// Thread safety: every function, from any thread.
class cluster final : public std::enable_shared_from_this<cluster> {
 public:
  /// A node's answer; on the loop's thread.
  using answer = std::function<void(const io::redis_answer&)>;
  enum class kind : std::uint8_t {
    command,
    /// What each node is asked all the time, or once for a loss or a connection: it is not kept
    /// waiting by a connection that is full of what is asked for locks.
    upkeep,
    subscription,
    unsubscription,  ///< It may fill a connection, too.
  };

  cluster(settings s, std::shared_ptr<io::loop> l);
  cluster(const cluster&) = delete;
  cluster& operator=(const cluster&) = delete;
  ~cluster();

  /// Begins to connect; once, and not on the loop's thread.
  void start();

  const settings& set() const noexcept { return settings_; }
  std::size_t size() const noexcept { return settings_.nodes.size(); }
  std::size_t majority() const noexcept { return core::redlock::majority(size()); }
  const std::vector<std::string>& addresses() const noexcept { return addresses_; }
  io::loop& loop() const noexcept { return *loop_; }
  const std::shared_ptr<io::loop>& shared_loop() const noexcept { return loop_; }

  std::shared_ptr<const ballots> now_voting() const;

  /// For what follows from answers.
  stages& later() noexcept { return stages_; }

  /// The number of the connection that is up, or no_connection.
  std::uint64_t connection_of(node_index i) const noexcept;
  bool is_connected(node_index i) const noexcept { return connection_of(i) != no_connection; }
  node_set connected() const noexcept;

  /// Whether a subscription leaves its connection to commands. In RESP2 a node would refuse all
  /// others there, also those of every holder of this process.
  bool may_subscribe(node_index i) const;

  /// Queues one command. The number of the connection that carries it; no_connection when it is
  /// not known, because it was replaced in the same moment. A failure: nothing was sent.
  result<std::uint64_t> send(node_index i, const io::redis_connection::command& c);
  /// The same for one answer; a failure to send is an answer, too, given before this returns. A
  /// node that forgot its scripts gets them, and the command, once more.
  void ask(node_index i, std::string_view bytes, time_point deadline, answer then,
           kind of = kind::command);

  /// A TIME that came with an answer. False when the node does not vote (any more).
  bool on_time(node_index i, core::redlock::server_time at, time_point sent, time_point received);
  /// The node answered that it does not know a script, so that nothing was run: all of them are
  /// ahead of what is sent to it from now on. On the loop's thread.
  void load_again(node_index i);
  /// An answer that contradicts what is known of the node: it is looked at again.
  void doubted(node_index i) HOLDFAST_EXCLUDES(mutex_);

  /// A command's deadline passed at `at`, or any answer came. A voter that has been silent for a
  /// few node timeouts is not worth asking for new locks: it only costs memory, and the answer that
  /// it still owes tells when it is back.
  void missed(node_index i, time_point at) noexcept;
  void answered(node_index i) noexcept {
    auto& since = members_[i]->silent_since;
    if (since.load(std::memory_order_relaxed) != heard) since.store(heard);
  }
  bool majority_is_connected() const noexcept;
  /// A majority is connected, and no deadline has passed there since its nodes answered last.
  bool majority_answers() const noexcept;
  /// `voters` without those that are silent, while that leaves a majority.
  node_set worth_asking(node_set voters, duration timeout) const noexcept;

  /// The largest token that this client has seen: as a hint it saves the raise.
  std::uint64_t newest_token() const noexcept { return newest_token_.load(); }
  void saw_token(std::uint64_t t) noexcept;

  /// What a held lock asks of the nodes.
  enum class duty : std::uint8_t { renewal, release };
  /// Why a node did not do that, and the answer that said so, if any: silent() has it until a
  /// better answer to the same or another connection comes.
  void heed(node_index i, duty what, fault why, const wire::reply* r);

  /// Why no majority can vote now, or success.
  result<void> verdict() const;
  /// The nodes that cannot be used, each with what its connection says, why its state cannot be
  /// read or what the node refuses with; empty when all can.
  std::string silent() const;
  /// What is waited for.
  enum class readiness : std::uint8_t {
    majority,  ///< A majority votes, or every node has been judged.
    settled,   ///< Every node has been judged, and all that can be done for it now is done.
    idle       ///< Nothing is half done at a node.
  };
  /// Runs `then` when that is so, at `limit` at the latest; on the loop's thread, or before it
  /// returns.
  void when_ready(time_point limit, std::function<void()> then, readiness how = readiness::majority)
      HOLDFAST_EXCLUDES(mutex_);

  /// `who` hears of them until it is gone.
  void listen(std::weak_ptr<link_listener> who);
  bool is_closed() const noexcept { return closed_; }

  /// For people: what a node refuses, or why it cannot be used. Each is empty when it is not so.
  struct refusals {
    std::string load{};    ///< The last SCRIPT LOAD.
    std::string config{};  ///< To say how it syncs its writes.
    std::string reload{};  ///< Why what it syncs is not what it reads back.
    std::string look{};    ///< A voter: to give its state, at the last look in passing.
    /// As heed() says, one for each duty.
    std::array<std::string, 2> heeded{};
    std::string unreadable{};  ///< Why the last look failed,
    bool barred{};             ///< ... which is for want of a right.
  };
  /// For people: what is known of one node.
  struct node_view {
    core::redlock::admission::standing standing{};
    std::string explanation{};
    bool judged{};  ///< It was looked at, or could not be connected to.
    core::redlock::node_facts facts{};
    std::optional<io::redis_facts> server{};
    std::string trouble{};  ///< Why it is not connected, or cannot be looked at.
    refusals refused{};
  };
  node_view view_of(node_index i) const;

  /// Sends a record on the connection that its node's facts came from; `then` on the loop's thread,
  /// with what was said where it was not written, if anything was.
  void write_record(const core::redlock::write& what,
                    std::function<void(core::redlock::write_reply, const std::string&)> then);
  /// Reads a node's facts again.
  void inspect_again(node_index i);

  /// What went over the connections to a node.
  io::redis_connection::counters count(node_index i) const {
    return members_[i]->connection->count();
  }

  /// Ends what is half done at a node, and sends what full connections did not take, each for as
  /// long as an inquiry may take; gives what is queued time to leave, until `limit`, and ends the
  /// connections.
  void close(duration limit);

 private:
  static constexpr std::int64_t heard = INT64_MAX;
  class link;
  class inspection;
  struct member {
    std::shared_ptr<link> watcher;
    std::unique_ptr<io::redis_connection> connection;
    std::atomic<std::uint64_t> number{};  ///< Of the connection, from 1.
    /// The first deadline that passed since the last answer, or heard.
    std::atomic<std::int64_t> silent_since{heard};
    std::atomic<std::int64_t> missed_last{};
    std::atomic<bool> loading{};  ///< Scripts are on their way again.
    /// As `refused.heeded` says, without the mutex.
    std::array<std::atomic<bool>, 2> refuses{};
    // On the loop's thread, under the mutex.
    std::optional<io::redis_facts> server{};
    std::uint64_t facts_of{};  ///< The connection that the admission's facts come from.
    bool judged{};             ///< At least one look or failure to connect.
    time_point asked{};        ///< When the last look on this connection began.
    refusals refused{};
    bool informed{};  ///< It answered the last INFO.
  };
  struct waiter {
    time_point limit{};  ///< Sooner than its end while a majority votes.
    std::function<void()> then;
    readiness how{};
    time_point end{};
  };
  using step = core::redlock::admission::step;

  /// Why a node is looked at: in passing silence says nothing.
  enum class occasion : std::uint8_t { needed, passing };

  // ---- cluster.cpp ----
  void went_up(node_index i, const io::redis_facts& facts) HOLDFAST_EXCLUDES(mutex_);
  void went_down(node_index i) HOLDFAST_EXCLUDES(mutex_);
  void put(node_index i, std::string_view bytes, time_point deadline, answer then, kind of);
  void advance(const std::function<step(core::redlock::admission&)>& event)
      HOLDFAST_EXCLUDES(mutex_);
  void carry_out(step s) HOLDFAST_EXCLUDES(mutex_);
  void refresh() HOLDFAST_REQUIRES(mutex_);
  void tick() HOLDFAST_EXCLUDES(mutex_);
  void begin_notes();
  void for_listeners(const std::function<void(link_listener&)>& f) HOLDFAST_EXCLUDES(mutex_);

  // ---- cluster_inquiries.cpp ----
  void inspect(node_index i, occasion why);
  void load_scripts(node_index i);
  void script_loaded(node_index i, const script& s, const io::redis_answer& a);
  void reconnect(node_index i);
  void send_seal(const core::redlock::seal& what);
  void send_write(const core::redlock::write& what);
  void heed_write(node_index i, const io::redis_answer& a);
  void poll_clocks();
  void ask_time(node_index i);
  void on_epoch(node_index i, std::uint64_t epoch);
  void on_other_life(node_index i);
  void inspect_next();

  // ---- cluster_verdict.cpp ----
  void tell_ready(time_point now) HOLDFAST_EXCLUDES(mutex_);
  bool is_so(readiness how) const HOLDFAST_REQUIRES(mutex_);
  void await_idle(time_point limit);
  void await_sent(time_point limit);
  void send_unsent(time_point limit, const std::shared_ptr<io::latch>& none);

  const settings settings_;
  const std::shared_ptr<io::loop> loop_;
  const std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<member>> members_;
  std::shared_ptr<io::life_notes_writer> notes_;
  std::atomic<std::uint64_t> newest_token_{};
  stages stages_;
  io::earliest_timer timer_;
  mutable io::mutex ballots_mutex_;
  std::shared_ptr<const ballots> ballots_ HOLDFAST_GUARDED_BY(ballots_mutex_);

  mutable io::mutex mutex_;  // Never held while anything is called.
  core::redlock::admission admission_ HOLDFAST_GUARDED_BY(mutex_);
  std::vector<waiter> waiters_ HOLDFAST_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<link_listener>> listeners_ HOLDFAST_GUARDED_BY(mutex_);
  std::size_t sweep_at_ HOLDFAST_GUARDED_BY(mutex_){16};
  node_index turn_{};  ///< Of inspect_next(); on the loop's thread.
  std::atomic<bool> closed_{};
};

}  // namespace holdfast::engines::redlock
