#pragma once

#include "client/lock_table.hpp"
#include "core/engine.hpp"
#include "io/thread/alarm.hpp"
#include "io/thread/mutex.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/completion.hpp>
#include <holdfast/error.hpp>
#include <holdfast/lock.hpp>
#include <holdfast/observer.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

namespace holdfast::client {

class session_core;

/// Whether a call may wait for an engine's answer; a thread of the library never does.
enum class waits : bool { no, yes };

/// One name that a session acquires or holds: what a `lock` points to.
///
/// | state     | granted() | lose()      | release()                     |
/// |-----------|-----------|-------------|-------------------------------|
/// | acquiring | held      | -           | -                             |
/// | held      | -         | lost, tells | over, then the engine         |
/// | lost      | -         | lost        | answers lost, see below       |
/// | over      | -         | over        | answers lost                  |
///
/// Its deadline is the session's lease, or one of its own that the engine gave with the grant. Lost
/// by its own, it ends alone: the session lives on, and abandon() still asks the engine to leave,
/// so that what is left in the store goes; then the name is free to acquire again.
///
/// The alarm watches an own lease from when somebody wants to hear of its loss; until then nothing
/// but checks reads it.
///
/// Thread safety: every function, from any thread.
class grant final : public io::alarm::deadline_holder, public std::enable_shared_from_this<grant> {
 public:
  grant(std::shared_ptr<session_core> owner, lock_name name, holdfast::mode mode);
  ~grant() override;

  static holdfast::lock make_lock(std::shared_ptr<grant> g) noexcept;

  const lock_name& name() const noexcept { return name_; }
  holdfast::mode mode() const noexcept { return mode_; }
  holdfast::token token() const noexcept { return entry_.token; }
  result<holdfast::fencing_token> fencing_token() const;

  /// Has the engine speak to this of what an enqueue gets; what it says of earlier ones is ignored
  /// from then on.
  void listen(core::enqueue_request& r);

  /// Makes it held; before anybody else can see the lock. Without `own` the session's lease
  /// decides.
  void granted(holdfast::token t, std::shared_ptr<core::lease> own, std::uint64_t request,
               time_point now) noexcept;

  /// Never held, but an entry of ours may be in the store: over, and its name stays taken.
  void abandoned(holdfast::token order, std::uint64_t request, bool move_gate) noexcept;

  /// What removes its entry.
  core::leave_request leaving() const;

  bool is_held() const noexcept { return state_.load(std::memory_order_acquire) == state::held; }
  bool is_over() const noexcept { return state_.load() == state::over; }
  bool has_own_lease() const noexcept { return own_ != nullptr; }
  void lose_own_lease() noexcept;
  /// The observer has heard that it was granted, and hears now if it was lost since.
  void announced() HOLDFAST_EXCLUDES(mutex_);
  /// Has the alarm watch its own lease, if it has one; a second time changes nothing.
  void watch_lease() HOLDFAST_EXCLUDES(mutex_);

  result<void> check(duration needed) const noexcept;
  duration remaining() const noexcept;
  std::stop_token lost() noexcept;
  void on_lost(std::function<void(const error&)> f) HOLDFAST_EXCLUDES(mutex_);

  /// Over before anything is sent. A thread of the library does not wait for the answer. Whoever
  /// calls it calls abandon() afterwards.
  result<void> release() HOLDFAST_EXCLUDES(mutex_);
  void release(completion<void> done) HOLDFAST_EXCLUDES(mutex_);
  /// What the destructor of a lock does: releases it unless that is done, tells nobody of a loss.
  void abandon(waits may = waits::yes) noexcept HOLDFAST_EXCLUDES(mutex_);
  /// Tells that it is lost, once. Runs user code: never under a mutex.
  void lose(session_state why, const std::string& reason) noexcept HOLDFAST_EXCLUDES(mutex_);
  bool forked() const noexcept;
  bool left_alone() const noexcept;

  time_point deadline() const noexcept override;
  bool passed() noexcept HOLDFAST_EXCLUDES(mutex_) override;

 private:
  enum class state : std::uint8_t { acquiring, held, lost, over };
  class listener;

  /// What the store has of it; written once, before anybody else can see the lock.
  struct own_entry {
    holdfast::token token{};
    std::uint64_t request{};
    bool move_gate{};
    time_point since{};
  };
  /// Of a release that nobody waits for; written by the one that ends the lock, before it is sent.
  struct ending {
    std::shared_ptr<grant> self{};
    completion<void> done{};
  };
  struct loss {
    session_state why{};
    std::string reason;
  };

  /// The observer hears first that it was granted. Else announced() tells the loss.
  bool may_tell_loss() HOLDFAST_EXCLUDES(mutex_);
  /// To the observer only; lose() has remembered why.
  void tell_loss() noexcept HOLDFAST_EXCLUDES(mutex_);
  /// The best that is known; also for one that was released.
  error why_lost() const HOLDFAST_EXCLUDES(mutex_);
  /// For people: why a lease of its own ended.
  std::string not_extended(const std::string& cause) const;
  /// What on_lost() hears.
  error loss_error(const loss& l) const;
  /// The first reason stays: that one is returned.
  loss remember(session_state why, const std::string& reason);
  /// On the alarm. `attempt`: of the enqueue that the engine speaks of.
  void lost_by_engine(std::uint64_t attempt, const core::reply& r) HOLDFAST_EXCLUDES(mutex_);
  /// On the alarm: its own lease ends earlier than when the watch was set.
  void shortened() HOLDFAST_EXCLUDES(mutex_);
  /// If a lease has passed by now, it is lost now, and not when the alarm comes to it.
  void notice_loss() HOLDFAST_EXCLUDES(mutex_);
  result<void> end_held() HOLDFAST_EXCLUDES(mutex_);
  /// release() on a thread of the library.
  result<void> release_unwaited() HOLDFAST_EXCLUDES(mutex_);
  void check_ended() const noexcept;
  /// Waits for the answer. Only behind the end of the lock.
  core::leave_reply give_back() HOLDFAST_EXCLUDES(mutex_);
  void give_back_unwaited() HOLDFAST_EXCLUDES(mutex_);
  /// The answer: the name is free in this session, or is asked for again.
  void left(const core::leave_reply& r) HOLDFAST_EXCLUDES(mutex_);
  /// To the observer, and what the caller gets.
  result<void> report_release(const core::leave_reply& r) HOLDFAST_EXCLUDES(mutex_);
  /// Removes what the store may have of a lock that was lost by itself.
  void give_up_lost(waits may) HOLDFAST_EXCLUDES(mutex_);
  /// on_lost() is not called any more.
  void silence() noexcept;

  friend class lock_table;
  lock_table::place place_{};

  const std::shared_ptr<session_core> owner_;
  const lock_name name_;
  const holdfast::mode mode_;
  own_entry entry_{};
  std::shared_ptr<core::lease> own_;
  core::lease* counts_;  ///< The session's lease or its own.
  std::atomic<state> state_{state::acquiring};
  std::atomic<bool> tells_{};  ///< on_lost() was called: most locks are never asked.
  ending ending_{};
  mutable io::mutex mutex_;  // No function of a user's runs under it.
  /// Made when first asked for.
  std::stop_source stop_ HOLDFAST_GUARDED_BY(mutex_){std::nostopstate};
  std::function<void(const error&)> on_lost_ HOLDFAST_GUARDED_BY(mutex_);
  std::unique_ptr<const loss> loss_ HOLDFAST_GUARDED_BY(mutex_);  ///< The first that was heard of.
  bool announced_ HOLDFAST_GUARDED_BY(mutex_){};   ///< The observer has heard that it was granted.
  bool loss_waits_ HOLDFAST_GUARDED_BY(mutex_){};  ///< It is to hear of the loss behind that.
  std::uint64_t attempt_ HOLDFAST_GUARDED_BY(mutex_){};
  std::uint64_t watched_ HOLDFAST_GUARDED_BY(mutex_){};
};

}  // namespace holdfast::client
