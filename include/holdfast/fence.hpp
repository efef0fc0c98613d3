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

/// What a fence does with passes of older tokens when a newer one arrives. See fence for passes
/// of other processes.
enum class older_passes : std::uint8_t {
  wait,       ///< The newer token waits until they have ended: a pass covers its whole write.
  invalidate  ///< They end at once, except a pass::commit() under way: for long work.
};

/// How long a token waits for older passes to end.
struct enter_options {
  /// Zero: not at all; negative counts as zero. `holdfast::forever`: without a limit. It does not
  /// limit the write to a floor file before the wait: two syncs, up to 5 s while another process
  /// has the file, and as long again for each thread of the process that came before.
  duration wait = std::chrono::seconds(5);
  /// When stop is requested the wait ends at once with `cancelled`.
  std::stop_token stop{};
};

/// The right to write, from fence::enter. Hold it around the write: from before its first byte
/// until the storage has taken its last.
///
/// |                             | valid() | commit(f)   | destructor         |
/// |-----------------------------|---------|-------------|--------------------|
/// | open                        | true    | runs f      | lets newer ones in |
/// | a newer token, `wait`       | true    | runs f      | lets newer ones in |
/// | a newer token, `invalidate` | false   | stale_token | nothing            |
/// | in a forked child           | false   | lost        | nothing            |
///
/// A newer token that arrives at another `fence` of the same floor file, as in another process,
/// always acts as with `wait`: it is admitted when this pass has ended.
///
/// What it does **not** promise:
/// - Anything about a write that goes on after the pass was destroyed.
/// - That a pass of a floor file ends with its process alone, when that is killed: children that
///   were forked since, and did not exec, keep it until they end.
///
/// Thread safety: valid() from any thread; the rest needs the caller's own order. A moved-from
/// pass may be destroyed and assigned; any other use is a programmer's error and stops the
/// program.
class [[nodiscard]] HOLDFAST_EXPORT pass {
 public:
  /// Takes the pass over; `other` may only be destroyed or assigned afterwards.
  pass(pass&& other) noexcept;
  /// Ends what was held before.
  pass& operator=(pass&& other) noexcept;
  /// Ends the pass. In memory it waits for no longer than another thread takes to do the same. Of
  /// a floor file it also waits while another thread of the process reads or writes the file for
  /// an arrival: two syncs, and up to 5 s while another process has the file.
  ~pass();

  /// The token it was entered with.
  holdfast::token token() const noexcept;

  /// False once a newer token at the same `fence` has invalidated it: give up early. True proves
  /// nothing about the next moment; with older_passes::invalidate only what runs inside commit()
  /// is covered.
  bool valid() const noexcept;

  /// Runs `f`, which makes the prepared change visible, if the pass is valid; newer tokens wait
  /// until it has returned. Keep it short. What `f` returns, if anything, is the result's value;
  /// a `result` is passed on. `f` may commit in its turn, which changes nothing for the outer one;
  /// and it may end or move the pass: an end lets newer tokens in at once.
  ///
  /// Errors: those of `f`; and if `f` was not run
  /// - `stale_token`: a newer token has invalidated the pass.
  /// - `lost`: in a forked child.
  template <class F>
  auto commit(F&& f) -> detail::as_result_t<std::invoke_result_t<F>> {
    if (auto begun = begin_commit(); !begun) return begun.error();
    const committing until_return(*this);
    return detail::call_for_result(std::forward<F>(f));
  }

 private:
  friend class fencing::gate;
  // What it has of the pass is its own: the function that is run may end the pass.
  struct committing {
    explicit committing(const pass& p) noexcept : at(p.at_), id(p.id_) {}
    committing(const committing&) = delete;
    committing& operator=(const committing&) = delete;
    ~committing() { end_commit(*at, id); }
    const std::shared_ptr<fencing::gate> at;
    const std::uint64_t id;
  };
  pass(std::shared_ptr<fencing::gate> at, std::uint64_t id, holdfast::token value) noexcept;
  result<void> begin_commit();
  static void end_commit(fencing::gate& at, std::uint64_t id) noexcept;
  fencing::gate& held() const noexcept;

  std::shared_ptr<fencing::gate> at_;
  std::uint64_t id_{};
  holdfast::token value_{};
};

template <>
inline constexpr bool detail::has_to_be_kept<pass> = true;

/// The gate at a storage: it admits writes with the newest token and refuses older ones, so that
/// a holder that was paused for longer than its lease cannot overwrite the work of its successor.
///
/// It is bound to one lock of one store, since only tokens of one lock can be compared: to the
/// source that it is made with, else to that of the first token that arrives.
///
/// | arrives     | is not stale when             | and raises at once      |
/// |-------------|-------------------------------|-------------------------|
/// | exclusive t | t >= newest                   | floor = newest = t      |
/// | shared t    | t >= floor                    | newest = max(newest, t) |
/// | raise(t)    | always                        | both = max(each, t)     |
///
/// A newer exclusive token is admitted when passes of all older ones have ended, a shared one
/// when those of older exclusive ones have; see older_passes. Passes of another `fence` at the
/// same floor file, as in another process, are always waited for, also with
/// older_passes::invalidate.
///
/// Older tokens are refused from the moment the newer one arrives, not from its admission: also
/// if it is never admitted, since its wait or its process ended first, and if nothing is written
/// under it.
///
/// Locks with permits(n) have one fence for each slot, which takes their tokens as exclusive
/// ones: holders of different permits do not replace each other.
///
/// | form              | shared by                      | floor survives                        |
/// |-------------------|--------------------------------|---------------------------------------|
/// | fence()           | the threads of this process    | nothing: keep it where the data is    |
/// | open("file:PATH") | the processes of this machine  | everything but the loss of the disk   |
///
/// What it does **not** promise:
/// - To stop a write that does not ask it, or one that goes on after its pass has ended.
/// - To remember, in memory in front of data on a disk: it forgets its floor with the process.
///   Use open(), or keep the floor in the store of the data itself (docs/guards.md).
///
/// A call that throws `std::bad_alloc` gives no pass and blocks nobody; its token may have
/// arrived, and then older ones are refused.
///
/// Thread safety: every function may be called from any number of threads at once, except that
/// destroying, moving and assigning need the caller's own order. Passes may outlive the fence.
class HOLDFAST_EXPORT fence {
 public:
  /// In this process's memory; bound to the source of the first token.
  explicit fence(older_passes policy = older_passes::wait);
  /// In this process's memory, bound to `from`.
  explicit fence(token_source from, older_passes policy = older_passes::wait);

  /// The fence of `resource` in a floor file: `file:PATH`, an absolute path whose directory
  /// exists. The file is made when it is missing, and holds any number of resources: names of 1
  /// to 512 bytes without control characters. A floor is on the disk before the token is
  /// admitted. With missing::refuse, for readers, nothing is made.
  ///
  /// Errors:
  /// - `invalid_argument`: the URL or the name.
  /// - `unavailable`: no such directory, permissions, a full disk, an earlier failure of its
  ///   disk; with missing::refuse, no such file or resource.
  /// - `unsupported`: a file system without the needed guarantees; the message names it.
  /// - `damaged`: another format, a newer version, a corrupt file.
  static result<fence> open(std::string_view url, std::string resource,
                            older_passes policy = older_passes::wait,
                            missing if_missing = missing::create);

  /// Takes the fence over; `other` may only be destroyed or assigned afterwards.
  fence(fence&& other) noexcept;
  /// Drops the fence that was held before.
  fence& operator=(fence&& other) noexcept;
  ~fence();

  /// Admits `t` and returns a pass that covers the write that follows. One token may have any
  /// number of passes at once.
  ///
  /// Errors:
  /// - `stale_token`: a newer one has arrived; the message names both.
  /// - `invalid_argument`: of another lock or store, which the message names; a value of zero or
  ///   out of range.
  /// - `timed_out`, `cancelled`: older passes did not end. Nothing may be written, and their
  ///   tokens are refused from now on.
  /// - `lost`: in a forked child, which does not see what the parent admits.
  /// - `unavailable`, `damaged`: from a floor file; the token may be the floor already.
  result<pass> enter(const fencing_token& t, holdfast::mode mode = holdfast::mode::exclusive(),
                     enter_options options = {});
  /// The same for an exclusive lock: `enter(t, {.wait = 2s})`.
  result<pass> enter(const fencing_token& t, enter_options options);

  /// Admits `t` without a pass: for a program whose writes all come from this one thread, or
  /// inside the storage's own transaction. A writer that is paused between admit() and a write
  /// elsewhere writes stale: use enter() there. Never waits for passes. In memory and for the
  /// newest token it is a few loads and one comparison.
  ///
  /// Errors: as enter(), without `timed_out` and `cancelled`; `busy` while older passes are under
  /// way, and older tokens are refused from then on. At a floor file also `busy` when processes
  /// come with one token at the same moment, while none that it has admitted has the file open: ask
  /// again.
  result<void> admit(const fencing_token& t, holdfast::mode mode = holdfast::mode::exclusive());

  /// Refuses every token below `to` from now on, and returns when passes of older ones have
  /// ended; of a floor file also newer passes of other processes. Never lowers the floor.
  ///
  /// Errors: as enter(), without `stale_token`; `invalid_argument` for zero and for a value above
  /// token_max. After `timed_out` and `cancelled` the floor is raised.
  result<void> raise(holdfast::token to, enter_options options = {});
  /// The same with the value of `to`, which counts as the first token of a fence that has seen
  /// none. Errors: also `invalid_argument` for a token of another lock or store, which the
  /// message names.
  result<void> raise(const fencing_token& to, enter_options options = {});

  /// Every token below this is refused; zero before the first. For a floor file: what was last
  /// read from there.
  holdfast::token floor() const noexcept;
  /// The newest token that has arrived, in any mode, or the floor: an exclusive one below this is
  /// refused. For a floor file: as floor().
  holdfast::token newest() const noexcept;
  /// The lock and store it is bound to; nothing before its first token.
  std::optional<token_source> source() const;

 private:
  explicit fence(std::shared_ptr<fencing::gate> at) noexcept;

  std::shared_ptr<fencing::gate> at_;
};

}  // namespace holdfast
