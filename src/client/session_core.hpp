#pragma once

#include "client/event_gate.hpp"
#include "client/lock_table.hpp"
#include "client/patrolling.hpp"
#include "client/store_core.hpp"
#include "core/lease.hpp"
#include "core/session_machine.hpp"
#include "io/process/fork_mark.hpp"
#include "io/process/life.hpp"
#include "io/thread/alarm.hpp"
#include "io/thread/mutex.hpp"

#include <holdfast/session.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

namespace holdfast::client {

/// Whether a store may shorten a ttl that it refuses. One that nobody chose it always may.
enum class may_be_shorter : bool { no, yes };

/// One open session: it drives the session machine (heartbeats on the loop, the deadline on the
/// alarm) and owns what its locks share: lease, gate, names, observer.
///
/// No mutex is held while an engine, the observer or a user's callback is called.
/// Thread safety: every function, from any thread.
class session_core final : public io::alarm::deadline_holder,
                           public std::enable_shared_from_this<session_core> {
 public:
  static result<std::shared_ptr<session_core>> open(std::shared_ptr<store_core> store,
                                                    session_options options,
                                                    may_be_shorter ttl_may = may_be_shorter::no);
  /// The public face of an open session.
  static session make_session(std::shared_ptr<session_core> core) noexcept;
  session_core(std::shared_ptr<store_core> store, session_options options, duration ttl);
  ~session_core() override;

  bool forked() const noexcept { return io::process_generation() != generation_; }
  const session_id& id() const noexcept { return id_; }
  std::uint64_t inc() const noexcept { return inc_; }
  duration ttl() const noexcept { return ttl_; }
  store_core& store() const noexcept { return *store_; }
  core::engine& engine() const noexcept { return store_->engine(); }
  core::lease& lease() noexcept { return lease_; }
  lock_table& locks() noexcept { return locks_; }
  event_gate& events() noexcept { return events_; }
  const std::shared_ptr<io::loop>& loop() const noexcept { return loop_; }
  const std::shared_ptr<io::alarm>& alarm() const noexcept { return alarm_; }
  std::stop_token lost() const noexcept { return stop_.get_token(); }
  int life_descriptor() const noexcept { return life_descriptor_; }

  std::uint64_t gate() const noexcept { return gate_.load(std::memory_order_acquire); }
  /// Gates only grow.
  void raise_gate(std::uint64_t to) noexcept;
  std::uint64_t next_request() noexcept { return requests_.fetch_add(1) + 1; }

  /// Success while attached or endangered; else why nothing can be held any more.
  result<void> usable();
  /// Once its locks were stopped: what usable() answers.
  error why_over();
  session_status status();
  /// For people: what is known to keep the store from extending what we hold; may be empty. No I/O.
  std::string trouble() HOLDFAST_EXCLUDES(mutex_);
  /// For people: that this process was late to act; empty: it was not.
  std::string lateness();
  /// An operation was answered: with `gone` and `denied` the session is over.
  void note(const core::reply& r) HOLDFAST_EXCLUDES(mutex_);
  /// Tries again, until the session is over, to remove an entry whose release was not answered; its
  /// name stays taken until then.
  void leave_later(std::shared_ptr<grant> g) HOLDFAST_EXCLUDES(mutex_);
  /// The same for one whose release was never sent.
  void leave_now(const std::shared_ptr<grant>& g) HOLDFAST_EXCLUDES(mutex_);

  /// A thread of the library waits for nothing: `outcome_unknown` when the answer is still to come.
  result<void> close() HOLDFAST_EXCLUDES(mutex_);

  /// Sends a heartbeat more, which extends nothing, and says how long its answer took.
  result<duration> time_of_beat() HOLDFAST_EXCLUDES(mutex_);

  time_point deadline() const noexcept override;
  bool passed() noexcept HOLDFAST_EXCLUDES(mutex_) override;

 private:
  using machine = core::session_machine;

  /// Once, on the caller's thread, who waits for the answers.
  result<void> enter() HOLDFAST_EXCLUDES(mutex_);
  /// Ends early where the store does not answer: the next session to open goes on.
  void take_over_dead() HOLDFAST_EXCLUDES(mutex_);
  bool take_over(const io::free_life& found, const core::session_record* record)
      HOLDFAST_EXCLUDES(mutex_);
  /// One look of the patrol, where this store needs one.
  void look_around() HOLDFAST_EXCLUDES(mutex_);
  /// Each try waits twice as long as the one before, up to a limit.
  void leave_after(duration pause, std::shared_ptr<grant> g) HOLDFAST_EXCLUDES(mutex_);
  void send_leave(duration pause, const std::shared_ptr<grant>& g) HOLDFAST_EXCLUDES(mutex_);
  /// Opens the record, again when the outcome is unknown. The lease counts from `sent`.
  core::open_reply announce(const core::open_request& r, time_point& sent)
      HOLDFAST_EXCLUDES(mutex_);
  /// On the loop or the alarm: time has passed, as far as that concerns the machine.
  void tick(time_point now) HOLDFAST_EXCLUDES(mutex_);
  /// The machine takes the event under the mutex; what it says is carried out without it.
  machine::step advance(const std::function<machine::step(machine&)>& event)
      HOLDFAST_EXCLUDES(mutex_);
  /// Beats and the record's removal go to the loop, for the alarm does no I/O.
  void carry_out(const machine::step& s) HOLDFAST_EXCLUDES(mutex_);
  void have_forgotten(const machine::change& c);
  void send_beat(std::uint64_t attempt) HOLDFAST_EXCLUDES(mutex_);
  void beat_answered(std::uint64_t attempt, const core::beat_reply& r) HOLDFAST_EXCLUDES(mutex_);
  /// The one timer: the one before was cancelled.
  void wake_at(time_point when) HOLDFAST_REQUIRES(mutex_);
  /// In the order of the changes, on the alarm; on the closing thread once the program's end has
  /// stopped that.
  void tell(const machine::change& c, duration remaining) noexcept HOLDFAST_EXCLUDES(mutex_);
  /// Has the alarm tell the end.
  bool post_end(const machine::change& c);
  core::close_request closing() const;
  /// On the loop, with nobody waiting for it.
  void remove_record() HOLDFAST_EXCLUDES(mutex_);
  /// close() on a thread of the library.
  result<void> close_unwaited(const machine::step& s) HOLDFAST_EXCLUDES(mutex_);
  /// What a close was answered: the life lock's file goes only if the record is gone.
  result<void> settle(const core::reply& r) HOLDFAST_EXCLUDES(mutex_);

  const std::shared_ptr<store_core> store_;
  const session_options options_;  ///< Without its observer, which events_ gives up.
  const duration ttl_;
  duration ttl_limit_{};  ///< What the store takes, when it refused ours as too long.
  const std::uint64_t generation_;
  session_id id_;
  std::uint64_t inc_{};
  core::lease lease_;
  std::atomic<std::uint64_t> gate_{};
  std::atomic<std::uint64_t> requests_{};
  event_gate events_;
  lock_table locks_;
  std::stop_source stop_;
  std::shared_ptr<io::loop> loop_;
  std::shared_ptr<io::alarm> alarm_;
  std::shared_ptr<patrolling> patrol_;  ///< Null where nobody has to look after the dead.
  std::uint64_t watched_{};
  std::atomic<int> life_descriptor_{-1};

  io::mutex mutex_;
  machine machine_ HOLDFAST_GUARDED_BY(mutex_);
  std::uint64_t timer_ HOLDFAST_GUARDED_BY(mutex_){};
  std::string trouble_ HOLDFAST_GUARDED_BY(mutex_);
  time_point trouble_asked_ HOLDFAST_GUARDED_BY(mutex_){};
  io::life_lock life_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::client
