#pragma once

#include "core/redlock/visibility.hpp"
#include "engines/redlock/cluster.hpp"
#include "io/thread/mutex.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace holdfast::engines::redlock {

/// One that waits for its turn in a queue.
class waiter {
 public:
  waiter() = default;
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;
  virtual ~waiter() = default;
  enum class wakeup : std::uint8_t {
    first,   ///< It is the first one now, and contends.
    held,    ///< The same, but a holder of this process has the lock.
    freed,   ///< A holder of this process has let it go, for it.
    others,  ///< It is the first one, and a client of another process was called.
    /// It is the first one, and no other client is known: a moment for those that nobody knows.
    strangers,
    next,   ///< A node calls this process, and no other.
    heard,  ///< A node tells everybody that it was released.
    looks_free,
    looks_taken,  ///< One node was asked.
  };
  virtual void turn(wakeup what) = 0;
  /// Who waits is blind now, or is no longer: as blindness() says.
  virtual void look_up() = 0;
};

/// The waiters of this process for each lock, in the order in which they came. Only the first one
/// contends with other processes, so that a hundred waiters cost the nodes no more than one; it is
/// notified when the lock may be free: by a release of this process, or by a message of the nodes.
///
/// A release calls one process and not all of them: each sits on a seat of the lock (keys.hpp), and
/// the seats are called in a circle. So sixteen processes that want one lock ask for it once each
/// time it is free, each gets its share, and the nodes' work does not grow with their number. All
/// of that only says when to ask; who gets the lock is decided by the nodes.
///
/// | who waits          | after a release of this process                                   |
/// |--------------------|-------------------------------------------------------------------|
/// | only this process  | its next waiter asks at once, behind the release                  |
/// | others, too        | the same some times in a row, then the others' turn               |
/// | nobody can tell    | the same; the next one stays back for a moment now and then, for  |
/// |                    | clients that no node knows of                                     |
/// | only others        | they are called; who comes back here at once waits                |
///
/// Thread safety: every function, from any thread. turn() is called on the loop's thread or on that
/// of the caller, never under a mutex.
class waiters final : public link_listener, public std::enable_shared_from_this<waiters> {
 public:
  explicit waiters(std::shared_ptr<cluster> c);

  enum class place : std::uint8_t {
    first,     ///< It contends.
    courtesy,  ///< The same, but others were called just now, and are let by.
    behind,    ///< Somebody of this process is before it.
  };
  place join(const std::string& name, const std::shared_ptr<waiter>& who);
  /// It was granted, or waits no more; the next one gets its turn.
  void leave(const std::string& name, const waiter& who, bool granted) HOLDFAST_EXCLUDES(mutex_);

  /// What a round means for all who wait.
  struct view {
    bool doubtful{};  ///< It found too few nodes, which proves nothing yet.
    bool blind{};     ///< Nobody can say any more that the lock is held.
    bool turned{};    ///< That was not so before, or is over.
  };
  /// A round of `who` ended, if it is the first one: with enough nodes, or `unavailable` and why;
  /// `cut_off`: no other one could reach enough now. Tells all who wait when it turned.
  view round_ended(const std::string& name, const waiter& who, const core::reply& with,
                   bool cut_off, time_point now) HOLDFAST_EXCLUDES(mutex_);
  /// Why who waits is blind; nothing while it is not.
  std::optional<core::reply> blindness(const std::string& name) const;

  /// From now on messages are listened to at the name's listening_node(), so that a release wakes
  /// one client once; another one when that does not answer any more. The first waiter hears how
  /// the lock looks there: a release before that was not heard.
  void listen_for(const std::string& name) HOLDFAST_EXCLUDES(mutex_);
  /// Whether a node tells us of releases.
  bool hears(const std::string& name) const;
  /// Our seat was called. If somebody else was first it is perhaps another's, too.
  void was_called(const std::string& name, bool granted);
  /// How long to wait for the others after a release that called them: twice as long as it took the
  /// last time until our own turn came again. Whoever was called may hang.
  duration courtesy(const std::string& name) const;
  /// Whose turn it was does not want it any more, and has left: somebody else is called, unless
  /// somebody waits here.
  void pass_on(const std::string& name) HOLDFAST_EXCLUDES(mutex_);

  /// Whether clients of other processes wait for a lock. One node is enough to know that they do; a
  /// majority has to deny it.
  enum class rivals : std::uint8_t { unknown, wait, none };
  /// How a holder of this process lets a lock go.
  struct parting {
    bool waits{};   ///< Somebody of this process does.
    bool keeps{};   ///< For the next one of this process: nobody else is called.
    bool counts{};  ///< The nodes say whether others wait.
    rivals others{};
    std::optional<unsigned> seat{};  ///< Ours; nothing when there is no queue here.
    node_set listens_at{};           ///< Where we would hear a call ourselves.
    node_set calls_at{};             ///< Where others hear one, if they do.
  };
  /// Before the release is sent.
  parting part(const std::string& name);
  /// It was sent, or will be.
  void parted(const std::string& name, const parting& how) HOLDFAST_EXCLUDES(mutex_);
  /// A holder's session is over, and nobody releases it.
  void forsaken(const std::string& name);
  /// A node that deleted the key says that other processes wait there.
  void others_wait(const std::string& name);
  /// It says that none does.
  void nobody_waits(const std::string& name, node_index i) HOLDFAST_EXCLUDES(mutex_);
  /// A holder of this process has lost it.
  void lost(const std::string& name) { tell_first(name, waiter::wakeup::heard); }

  void connected(node_index) override {}
  void disconnected(node_index i) override;
  void heard(node_index i, const news& n) override;

 private:
  struct hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const noexcept {
      return std::hash<std::string_view>{}(name);
    }
  };
  template <class T>
  using by_name = std::unordered_map<std::string, T, hash, std::equal_to<>>;

  struct queue {
    std::list<std::shared_ptr<waiter>> in_order{};  ///< As they came.
    unsigned seat{};
    node_set subscribed{};  ///< Asked for, and not refused.
    node_set listening{};   ///< The node has said so.
    int in_vain{};          ///< How often in a row it was called while somebody else was first.
    bool moves{};           ///< To another seat, when it is empty.
    /// When a holder of this process let it go while nobody waited. A queue that nobody stands in
    /// stays until a moment after that.
    time_point parted{time_point::max()};
    time_point streak_began{};
    int streak{};  ///< How often in a row the lock stayed in this process.
    rivals others{};
    node_set none{};      ///< Nodes that said of the last release that nobody else waits there.
    time_point called{};  ///< When a release of this process last called others.
    duration circle{};    ///< From then until our seat was called.
    bool lets_by{};       ///< The first one waits for that.
    core::redlock::visibility visibility{};  ///< Of the first ones' rounds.
    std::optional<core::reply> blind{};      ///< While that is: why.
  };

  /// The node to listen to for a name: the same for all clients that reach it. Nothing when none
  /// can be listened to.
  std::optional<node_index> listening_node(const std::string& name) const;
  void subscribe(const std::string& name, unsigned seat, node_index i);
  void subscribed(const std::string& name, node_index i, bool done) HOLDFAST_EXCLUDES(mutex_);
  void unsubscribe(const std::string& name, unsigned seat, node_set where)
      HOLDFAST_EXCLUDES(mutex_);
  void listen_again(const std::string& name, node_set where) HOLDFAST_EXCLUDES(mutex_);
  void ask_how_it_looks(const std::string& name, node_index i);
  bool has_queue(const std::string& name) const HOLDFAST_EXCLUDES(mutex_);
  void have_all_look_up(const std::string& name) HOLDFAST_EXCLUDES(mutex_);
  /// False: nobody is there.
  bool tell_first(std::string_view name, waiter::wakeup what) HOLDFAST_EXCLUDES(mutex_);
  void drop(std::string_view channel, node_index i);
  void call_next(std::string_view name, node_index i);
  void linger(const std::string& name, queue& q) HOLDFAST_REQUIRES(mutex_);
  parting part_here(const std::string& name) HOLDFAST_EXCLUDES(mutex_);
  bool leave_empty(std::string_view name, time_point parted) HOLDFAST_EXCLUDES(mutex_);

  const std::shared_ptr<cluster> cluster_;
  const unsigned database_;
  std::atomic<unsigned> seat_;

  mutable io::mutex mutex_;  // Never held while a waiter is called.
  by_name<queue> queues_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::engines::redlock
