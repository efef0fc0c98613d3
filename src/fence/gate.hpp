#pragma once

#include "fence/floor_keeper.hpp"
#include "fence/gate_machine.hpp"
#include "io/thread/mutex.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/fence.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

namespace holdfast::fencing {

/// What a `fence` points to: the machine of its passes behind a mutex, the floors, and what they
/// are kept in.
///
/// The floors are raised before anybody waits for older passes, so that no new older pass begins
/// meanwhile; the floors are looked at again after the wait.
///
/// Thread safety: every function, from any thread.
class gate final : public std::enable_shared_from_this<gate> {
 public:
  /// `keeper` may be null: the floors live in memory.
  gate(std::optional<token_source> from, older_passes policy, std::unique_ptr<floor_keeper> keeper);

  result<pass> enter(const fencing_token& t, mode how, const enter_options& options);
  result<void> admit(const fencing_token& t, mode how);
  /// The answer of admit() is a success that changes nothing. False proves nothing.
  bool admits_at_once(const fencing_token& t, mode how) const noexcept {
    return !keeper_ && is_admitted(t, sharing_of(how)) && !is_inherited();
  }
  /// Bound to `from`, where it is known whose token it is.
  result<void> raise(token to, const std::optional<token_source>& from,
                     const enter_options& options);

  token floor() const noexcept { return token{floor_.load(std::memory_order_acquire)}; }
  token newest() const noexcept { return token{newest_.load(std::memory_order_acquire)}; }
  std::optional<token_source> source() const;

  void close(std::uint64_t id) noexcept;
  bool valid(std::uint64_t id) const noexcept;
  /// `value`: the pass's token, for the message.
  result<void> begin_commit(std::uint64_t id, token value);
  void end_commit(std::uint64_t id) noexcept;

  /// What was read when it was made.
  void know(const floor_record& r);

 private:
  struct no_claim_left;

  /// The passes and the locks on a file that show them belong to the process that made this.
  bool is_inherited() const noexcept;

  /// Without the mutex, of atomics that only grow; see admits_at_once().
  bool is_admitted(const fencing_token& t, sharing how) const noexcept;
  /// Whether it is a token, and of the source that this fence is bound to.
  result<void> check(const fencing_token& t) const HOLDFAST_REQUIRES(mutex_);
  /// The first one stays.
  void bind(const token_source& from) HOLDFAST_REQUIRES(mutex_);
  floors now() const noexcept { return {floor(), newest()}; }
  /// Those that are known are kept where they are above.
  void learn(const floors& f) noexcept HOLDFAST_REQUIRES(mutex_);
  /// Somebody who waits for older passes. A raise is never stale.
  struct arrival {
    token value;
    sharing how;
    bool raises{};
  };
  /// `stale_token` by the floors that are known here.
  result<void> judge(const arrival& a) const;
  /// Raises the floors for it, first where they are kept. `stale_token` when it came too late.
  result<void> arrive(const fencing_token& t, const arrival& a) HOLDFAST_REQUIRES(mutex_);
  /// Gives the mutex up while it sleeps, so afterwards it is judged anew. Whatever it ends with,
  /// the floors stay raised.
  result<void> wait_for_older(const arrival& a, const enter_options& options)
      HOLDFAST_REQUIRES(mutex_);
  result<bool> older_ended(const arrival& a) HOLDFAST_REQUIRES(mutex_);
  std::string in_the_way(const arrival& a) const HOLDFAST_REQUIRES(mutex_);
  std::string way_out(const arrival& a) const HOLDFAST_REQUIRES(mutex_);
  bool pause(const arrival& a, time_point until, std::stop_token stop) HOLDFAST_REQUIRES(mutex_);
  /// No older pass is in its way, and none will be: admits_at_once() goes by that.
  void settled(token t, sharing how) noexcept;

  std::atomic<std::uint64_t> floor_{};
  std::atomic<std::uint64_t> newest_{};
  // The newest token of each kind that no older pass is in the way of any more. That stays true:
  // the floors that keep older ones out were raised before.
  std::atomic<std::uint64_t> settled_exclusive_{};
  std::atomic<std::uint64_t> settled_shared_{};
  std::atomic<const token_source*> bound_{};

  mutable io::mutex mutex_;
  std::condition_variable_any changed_;
  std::unique_ptr<const token_source> from_ HOLDFAST_GUARDED_BY(mutex_);
  gate_machine passes_ HOLDFAST_GUARDED_BY(mutex_);
  const std::unique_ptr<floor_keeper> keeper_;
  const std::uint64_t process_;
};

}  // namespace holdfast::fencing
