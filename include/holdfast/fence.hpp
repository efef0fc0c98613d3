#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/export.hpp>
#include <holdfast/fencing_token.hpp>
#include <holdfast/missing.hpp>
#include <holdfast/mode.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace holdfast {

namespace fencing {
class gate;
}

/// What a fence does with passes of older tokens when a newer one arrives.
enum class older_passes : std::uint8_t {
  wait,  ///< The newer one waits until they have ended: a pass covers its whole write.
  /// Those of the same fence end at once, but for a pass::commit() under way: for long work.
  /// Those of others at the same floor file, as in other processes, do not: it waits for their end.
  invalidate
};

/// How long an arrival waits for older passes to end.
struct enter_options {
  /// Zero: not at all. `holdfast::forever`: without a limit. Negative counts as zero. A floor file
  /// is written before, which this does not limit: it takes two syncs, up to 5 s where another
  /// process has the file, and as long again for each thread of the process that came before.
  duration wait = std::chrono::seconds(5);
  /// Stop is requested: the wait ends at once with `cancelled`.
  std::stop_token stop{};
};

/// The right to write, from fence::enter: hold it around the write, from before its first byte
/// until the storage has taken its last.
///
/// |                             | valid() | commit(f)   | destructor         |
/// |-----------------------------|---------|-------------|--------------------|
/// | open                        | true    | runs f      | lets newer ones in |
/// | a newer token, `wait`       | true    | runs f      | lets newer ones in |
/// | a newer token, `invalidate` | false   | stale_token | nothing            |
/// | in a forked child           | false   | lost        | nothing            |
///
/// A newer token that comes to another `fence` of the same floor file, as in another process, is as
/// with `wait`: it is admitted when this pass has ended.
///
/// What it does **not** promise: anything about a write that goes on after it was destroyed; that
/// of a floor file it ends with its process alone, when that is killed: children that were forked
/// since, and did not exec, keep it until they end.
///
/// Thread safety: valid() from any thread; the rest needs the caller's own order. Using a
/// moved-from pass is a programmer's error and stops the program; it may be destroyed and assigned.
class [[nodiscard]] HOLDFAST_EXPORT pass {
 public:
  /// Takes the pass over; `other` may only be destroyed or assigned afterwards.
  pass(pass&& other) noexcept;
  /// Ends what was held before.
  pass& operator=(pass&& other) noexcept;
  /// Ends the pass. In memory it waits for no longer than another thread takes to do the same; of a
  /// floor file also while another thread of the process reads or writes the file for an arrival:
  /// two syncs, and up to 5 s where another process has the file.
  ~pass();

  /// With what it was entered.
  holdfast::token token() const noexcept;

  /// False once a newer token at the same `fence` has invalidated it: give up early. True proves
  /// nothing about the next moment; with older_passes::invalidate only what runs inside commit() is
  /// covered.
  bool valid() const noexcept;

  /// Runs `f`, which makes the prepared change visible, if the pass is valid; newer tokens wait
  /// until it has returned. Keep it short. What `f` returns, if anything, is the result's value; a
  /// `result` is passed on.
  /// Errors: `stale_token` and `lost`, and then `f` was not run; else those of `f`.
  template <class F>
  auto commit(F&& f) -> detail::as_result_t<std::invoke_result_t<F>> {
    if (auto begun = begin_commit(); !begun) return begun.error();
    const committing until_return(*this);
    return detail::call_for_result(std::forward<F>(f));
  }

 private:
  friend class fencing::gate;
  struct committing {
    explicit committing(pass& p) noexcept : of(p) {}
    committing(const committing&) = delete;
    committing& operator=(const committing&) = delete;
    ~committing() { of.end_commit(); }
    pass& of;
  };
  pass(std::shared_ptr<fencing::gate> at, std::uint64_t id, holdfast::token value) noexcept;
  result<void> begin_commit();
  void end_commit() noexcept;
  fencing::gate& held() const noexcept;

  std::shared_ptr<fencing::gate> at_;
  std::uint64_t id_{};
  holdfast::token value_{};
};

/// The gate at a storage: it lets writes with the newest token pass and refuses older ones, so
/// that a holder that was paused for longer than its lease cannot write over its successor.
///
/// It is bound to one lock of one store, for only their tokens can be compared: to that of its
/// construction, else to that of the first token it sees.
///
/// | arrives     | is not stale when             | and raises at once      |
/// |-------------|-------------------------------|-------------------------|
/// | exclusive t | t >= newest                   | floor = newest = t      |
/// | shared t    | t >= floor                    | newest = max(newest, t) |
/// | raise(t)    | always                        | both = max(each, t)     |
///
/// A newer exclusive token is admitted when passes of all older ones have ended, a shared one when
/// those of older exclusive ones have; see older_passes. From the moment of its arrival, and not of
/// its admission, the older ones are refused: also when it is never admitted, because its wait or
/// its process ended first, and when nothing is written under it.
///
/// Locks with permits(n) have one fence for each slot, of which each takes tokens as exclusive
/// ones: holders of different permits do not replace each other.
///
/// | form              | who shares it                  | floor survives                        |
/// |-------------------|--------------------------------|---------------------------------------|
/// | fence()           | the threads of this process    | nothing: keep it where the data is    |
/// | open("file:PATH") | the processes of this machine  | everything but the loss of the disk   |
///
/// What it does **not** promise: to stop a write that does not ask it, or one that goes on after
/// its pass has ended. A fence in memory in front of data on a disk forgets its floor with the
/// process: use open(), or keep the floor in the store of the data itself (docs/guards.md).
///
/// A call that throws `std::bad_alloc` gives no pass and leaves none in anybody's way; its token
/// may have arrived, and older ones are refused then.
///
/// Thread safety: every function may be called from any number of threads at once, except that
/// destroying, moving and assigning need the caller's own order. Passes may outlive the fence.
class HOLDFAST_EXPORT fence {
 public:
  /// In this process's memory; bound to the source of the first token.
  explicit fence(older_passes policy = older_passes::wait);
  /// In this process's memory, bound to `from`.
  explicit fence(token_source from, older_passes policy = older_passes::wait);

  /// The fence of `resource` in a floor file: `file:PATH`, an absolute path whose directory exists.
  /// The file is made when it is not there, and holds any number of resources: names of 1 to 512
  /// bytes without control characters. A floor is on the disk before the token is admitted.
  ///
  /// With missing::refuse nothing is made, and a file or a resource that is not there is
  /// `unavailable`: for whoever only looks.
  /// Errors: `invalid_argument` (URL, name), `unavailable` (no such directory, permissions, a full
  /// disk, an earlier failure of its disk), `unsupported` (a file system without the needed
  /// guarantees, by name), `damaged` (another format, a newer version, a corrupt file).
  static result<fence> open(std::string_view url, std::string resource,
                            older_passes policy = older_passes::wait,
                            missing if_missing = missing::create);

  /// Takes the fence over; `other` may only be destroyed or assigned afterwards.
  fence(fence&& other) noexcept;
  /// Lets go of the fence that was held before.
  fence& operator=(fence&& other) noexcept;
  ~fence();

  /// Admits `t` and gives a pass that covers the write that follows. The same token may have any
  /// number of passes at once.
  /// Errors: `stale_token` (a newer one has arrived; the message names both), `invalid_argument`
  /// (another lock or store, by name; a value of zero or out of range), `timed_out` and `cancelled`
  /// (older passes did not end: nothing may be written, and they are refused from now on), `lost`
  /// (the child of a fork, which does not see what the parent admits); from a floor file also
  /// `unavailable` and `damaged`, and then the token may be the floor already.
  result<pass> enter(const fencing_token& t, holdfast::mode mode = holdfast::mode::exclusive(),
                     enter_options options = {});

  /// Admits `t` without a pass: for a program whose writes all come from this one thread, or
  /// inside the storage's own transaction. Whoever is paused between admit() and a write elsewhere
  /// writes stale: use enter(). Never waits for passes: `busy` while older ones are under way, and
  /// older tokens are refused from then on. In memory and for the newest token it is a few loads
  /// and one comparison. Errors: else as enter().
  result<void> admit(const fencing_token& t, holdfast::mode mode = holdfast::mode::exclusive());

  /// Refuses every token below `to` from now on, and returns when passes of older ones have ended
  /// (of a floor file, those of other processes that are newer, too). Never lowers the floor.
  /// Errors: as enter(), but `stale_token`; zero and what is above token_max are
  /// `invalid_argument`. After `timed_out` and `cancelled` it is raised.
  result<void> raise(holdfast::token to, enter_options options = {});
  /// The same below the value of `to`, which is the first token for a fence that has seen none.
  /// Errors: also `invalid_argument` for a token of another lock or store, by name.
  result<void> raise(const fencing_token& to, enter_options options = {});

  /// Every token below is refused; zero before the first. What it says of a floor file is what was
  /// last read from there.
  holdfast::token floor() const noexcept;
  /// The newest token that has arrived, in any mode, or the floor: an exclusive one below it is
  /// refused. Otherwise as floor().
  holdfast::token newest() const noexcept;
  /// What it is bound to; nothing before its first token.
  std::optional<token_source> source() const;

 private:
  explicit fence(std::shared_ptr<fencing::gate> at) noexcept;

  std::shared_ptr<fencing::gate> at_;
};

}  // namespace holdfast
