#pragma once

#include "client/grant.hpp"
#include "core/claim.hpp"
#include "io/process/process_watch.hpp"
#include "io/thread/latch.hpp"

#include <holdfast/completion.hpp>
#include <holdfast/session.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

namespace holdfast::client {

class session_core;

/// One acquire under way: it drives a claim with whatever thread brings the next event.
///
/// Events set a bit; the thread that finds nobody running runs the claim until there is nothing
/// left to do, so that the claim is serialised without a mutex and an engine that answers at once
/// is driven to the end on the caller's own thread.
///
/// It owns itself from start() until the end, because an engine's callback may come at any time.
/// Thread safety: every function, from any thread.
class acquisition final : public std::enable_shared_from_this<acquisition> {
 public:
  acquisition(std::shared_ptr<session_core> session, acquire_options options);

  /// Begins; `g` is in the session's lock table. Without `done` somebody has to wait().
  void start(std::shared_ptr<grant> g, completion<holdfast::lock> done);
  /// Blocks until the end; on a thread of the library it gives the wait up instead. Only without a
  /// completion.
  result<holdfast::lock> wait();
  /// The session has ended, for the reason given.
  void session_over(const error& why);

 private:
  enum signal : std::uint32_t {
    none = 0,
    running = 1,
    replied = 2,
    noticed = 4,
    ticked = 8,
    cancelled = 16,
    over = 32
  };
  struct stopper {
    acquisition* of;
    void operator()() const noexcept { of->stop_requested(); }
  };
  struct dead_ones {
    std::vector<session_id> ids;
  };
  /// What only a waiter needs: most acquires never wait.
  struct waiting_state {
    std::unique_ptr<core::watch_handle> watch{};
    std::vector<core::rival> rivals{};
    std::vector<std::unique_ptr<io::process_watch>> hints{};
    /// Once each: a process that is gone may leave a child behind.
    std::set<session_id> hinted{};
    time_point hint_at{time_point::max()};
    std::optional<std::size_t> shown_ahead{};
    session_id taking{};
  };
  using answer = std::variant<std::monostate, core::queue_view, core::take_reply, core::leave_reply,
                              dead_ones>;

  /// wait() on a thread of the library.
  result<holdfast::lock> give_up_unless_there();
  void stop_requested() noexcept;
  /// Runs the claim here, unless another thread does: then that one obeys the signal.
  void post(signal s);
  /// For the one thread that has set the running bit.
  void run();
  /// Several may have come meanwhile: reasons to end go before answers, and answers before hints.
  void obey(std::uint32_t signals);
  /// The answer of the operation that was asked last.
  core::action feed(time_point now);
  core::claim::config config() const;

  /// The engine may answer inside of it; then the bit is set, and run() goes on with it.
  void perform(const core::action& a);
  void carry_out(const core::act::enqueue& a);
  void carry_out(const core::act::probe& a);
  void carry_out(const core::act::take& a);
  void carry_out(const core::act::watch& a);
  void carry_out(const core::act::confirm& a);
  void carry_out(const core::act::leave& a);
  void carry_out(const core::act::rest& a);
  void carry_out(const core::act::finish& a);

  /// On any thread; for the one operation that is under way.
  void answered(answer a);
  /// Made when first needed.
  waiting_state& waiting();
  time_point hint_at() const noexcept { return waiting_ ? waiting_->hint_at : time_point::max(); }
  /// Watches the processes of those ahead: one that ends is a reason to look at its life lock.
  void hint();
  /// Nothing is under way: sets the timer for what comes next by itself.
  void rest();
  /// The observer hears of each number of those ahead once.
  void tell_waiting();
  /// What this claim saw of those ahead, for the next claim of this process.
  void keep_notes(const core::act::finish& a);
  /// What the caller gets; settles what becomes of the name in this session.
  result<holdfast::lock> outcome(const core::act::finish& a);
  std::string describe(const core::act::finish& a) const;
  /// Hands it over, and gives up owning itself.
  void end(result<holdfast::lock> r);

  const std::shared_ptr<session_core> session_;
  const acquire_options options_;
  completion<holdfast::lock> done_;
  std::shared_ptr<acquisition> self_;
  std::shared_ptr<grant> grant_;
  std::optional<core::claim> claim_;
  time_point began_{};
  time_point now_{};  ///< Of the signals that it obeys; one reading of the clock serves all of it.
  std::uint64_t request_{};

  std::atomic<std::uint32_t> signals_{running};
  bool starting_{true};  ///< On the thread that called start().
  bool tells_at_once_{};
  bool finished_{};
  answer answer_;  ///< Of the one operation under way.
  enum class step : std::uint8_t { enqueue, probe, take, confirm, leave } asked_{};
  std::unique_ptr<const error> session_error_;  ///< Written once before `over` is set.

  std::unique_ptr<waiting_state> waiting_;
  std::uint64_t timer_{};
  std::optional<std::stop_callback<stopper>> stopper_;

  std::optional<result<holdfast::lock>> outcome_;
  io::latch ended_;
};

}  // namespace holdfast::client
