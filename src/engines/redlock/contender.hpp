#pragma once

#include "core/engine.hpp"
#include "core/redlock/pause.hpp"
#include "engines/redlock/cluster.hpp"
#include "engines/redlock/round.hpp"
#include "engines/redlock/waiters.hpp"
#include "io/thread/mutex.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace holdfast::engines::redlock {

/// One request for one lock: rounds with pauses between them until it is granted, refused for good,
/// or given up. A try has one round. One that found the nodes without their scripts, or in another
/// epoch, is made again once they have them, or are known as they are.
///
/// | state      | what comes next                                              |
/// |------------|--------------------------------------------------------------|
/// | waiting    | its turn                                                     |
/// | in a round | held: over; taken: resting (a try: over)                     |
/// | resting    | the pause ends, or the lock may be free: a round             |
/// | leaving    | cancelled in a round: its end, of which nobody hears         |
/// | over       |                                                              |
///
/// Thread safety: every function, from any thread.
class contender final : public waiter,
                        public round::listener,
                        public std::enable_shared_from_this<contender> {
 public:
  /// Which request it is of. A number may be used again once its request was left, while answers to
  /// the old one are still to come: `turn` tells them apart.
  struct ticket {
    std::uint64_t request{};
    std::uint64_t turn{};
  };
  enum class wish : std::uint8_t { try_once, wait };
  /// Hears of the request of that ticket.
  class listener {
   public:
    listener() = default;
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    virtual ~listener() = default;
    /// The first round ended, or it stands in the queue: `queued`, or what became of it. Once.
    virtual void answered(const ticket& of, core::reply what) = 0;
    /// It was granted; the listener takes the key out and owns it from now on. At most once, before
    /// answered() says `ok`. False when it is not wanted any more: then the key is left in `r`.
    virtual bool held(const ticket& of, round_outcome& r) = 0;
    /// A grant on one more node, after held().
    virtual void late(const ticket& of, node_index i) = 0;
    /// These nodes have no record of the session. It is to be on its way to them when what is
    /// posted to the loop afterwards runs.
    virtual void unrecorded(node_set where) = 0;
    /// Once it stands in the queue, while it waits, what stands in the way: `queued`, and what is
    /// known of who has it; or `unavailable` and why, when the rounds find too few nodes. The `nth`
    /// of these may come behind a later one.
    virtual void hindered(const ticket& of, std::uint64_t nth, core::reply by) = 0;
    /// After answered() said `queued`: granted, or over for another reason. At most once.
    virtual void changed(const ticket& of, core::reply what) = 0;
  };

  /// A listener that is gone wants nothing any more.
  contender(std::shared_ptr<cluster> c, std::shared_ptr<waiters> w, round::order o, wish what,
            std::weak_ptr<listener> l, const ticket& of);

  void start() HOLDFAST_EXCLUDES(mutex_);
  /// Its listener does not want it any more; it hears of nothing afterwards.
  void cancel() HOLDFAST_EXCLUDES(mutex_);
  void turn(wakeup what) HOLDFAST_EXCLUDES(mutex_) override;
  void look_up() HOLDFAST_EXCLUDES(mutex_) override;
  void round_ended(round_outcome&& r) HOLDFAST_EXCLUDES(mutex_) override;
  void late(node_index i) override;

 private:
  enum class state : std::uint8_t { waiting, in_round, resting, leaving, over };
  /// Why a round is ours, and nobody else's: until one finds the lock taken, or we give it up.
  enum class summons : std::uint8_t {
    none,
    turn,  ///< It is our turn in this process.
    call   ///< The same, because a node called.
  };

  /// What the listener was shown last of what stands in the way.
  struct shown_hindrance {
    bool endless{};         ///< A key without a ttl.
    bool blind{};           ///< That too few nodes can be asked.
    std::uint64_t times{};  ///< How often it was shown anything.
  };

  bool may_begin() const noexcept HOLDFAST_REQUIRES(mutex_) {
    return state_ == state::waiting || state_ == state::resting;
  }
  bool is_in_round() const noexcept HOLDFAST_REQUIRES(mutex_) {
    return state_ == state::in_round || state_ == state::leaving;
  }
  void begin_round() HOLDFAST_EXCLUDES(mutex_);
  bool again_when_mended(const round_outcome& r);
  void rest(const round_outcome& r, const core::reply& ended) HOLDFAST_EXCLUDES(mutex_);
  void end(core::reply what) HOLDFAST_EXCLUDES(mutex_);
  /// True: it was ours, and is to be passed on.
  bool give_up_turn() HOLDFAST_REQUIRES(mutex_);
  void withdraw(bool was_turn) HOLDFAST_EXCLUDES(mutex_);
  std::optional<duration> pause_on(wakeup what) HOLDFAST_REQUIRES(mutex_);
  void begin_after(duration wait) HOLDFAST_REQUIRES(mutex_);

  const std::shared_ptr<cluster> cluster_;
  const std::shared_ptr<waiters> waiters_;
  round::order order_;
  const bool waits_;  ///< False: a try.
  const std::weak_ptr<listener> listener_;
  const ticket ticket_;

  io::mutex mutex_;  // Never held while anything is called back.
  state state_ HOLDFAST_GUARDED_BY(mutex_){state::waiting};
  std::shared_ptr<round> round_ HOLDFAST_GUARDED_BY(mutex_);
  core::redlock::pause pause_ HOLDFAST_GUARDED_BY(mutex_);
  bool answered_ HOLDFAST_GUARDED_BY(mutex_){};  ///< answered() was called.
  bool again_ HOLDFAST_GUARDED_BY(mutex_){};  ///< The lock may have become free during the round.
  summons summoned_ HOLDFAST_GUARDED_BY(mutex_){};
  /// Others were called: the lock is not for us yet, and be it free.
  bool lets_by_ HOLDFAST_GUARDED_BY(mutex_){};
  shown_hindrance shown_ HOLDFAST_GUARDED_BY(mutex_);
  /// A round was made again for what was known of nodes by then.
  bool mended_ HOLDFAST_GUARDED_BY(mutex_){};
  node_set recorded_ HOLDFAST_GUARDED_BY(mutex_){};  ///< The same, for their record of the session.
  std::uint64_t timer_ HOLDFAST_GUARDED_BY(mutex_){};
};

}  // namespace holdfast::engines::redlock
