#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/completion.hpp>
#include <holdfast/error.hpp>
#include <holdfast/export.hpp>
#include <holdfast/fencing_token.hpp>
#include <holdfast/lock_name.hpp>
#include <holdfast/mode.hpp>
#include <holdfast/token.hpp>

#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

namespace holdfast {

namespace client {
class grant;
}

/// A lock that was granted. Move-only, and never empty: a failed acquire gives an error instead.
///
/// |                   | check(needed)  | remaining() | release()  | destructor        |
/// |-------------------|----------------|-------------|------------|-------------------|
/// | held, enough left | ok             | >= `needed` | released   | releases, bounded |
/// | held, less left   | errc::expiring | > 0         | released   | releases, bounded |
/// | lost              | errc::lost     | 0           | errc::lost | reports nothing   |
/// | released          | errc::lost     | 0           | errc::lost | nothing           |
/// | in a forked child | errc::lost     | 0           | errc::lost | nothing           |
///
/// A held lock becomes lost when its lease ends. That is the lease of its session, which ends all
/// of the session's locks; or, in a store that extends each lock by itself (Redlock), a lease of
/// its own. Such a lock is lost alone. When it is released or destroyed, the store removes what
/// it has left, and its name can be acquired again.
///
/// Lost is final: a lock that was lost never reports ok again, whatever the store says later.
///
/// What it does **not** promise: that a write sent while check() reported ok arrives before the
/// lease ends. A paused machine, a process in an uninterruptible call and a write already in
/// flight are outside any lock's reach: send the token with the write and let the storage refuse
/// an older one. It also trusts CLOCK_BOOTTIME to run within 1 % of real time.
///
/// Thread safety: const functions from any thread; the others need the caller's own order. A
/// moved-from lock may be destroyed and assigned; any other use is a programmer's error and stops
/// the program.
class [[nodiscard]] HOLDFAST_EXPORT lock {
 public:
  /// Takes the lock over; `other` may only be destroyed or assigned afterwards.
  lock(lock&& other) noexcept;
  /// Releases what was held before, as the destructor does.
  lock& operator=(lock&&) noexcept;
  /// Releases the lock and reports nothing. noexcept, and bounded by the engine's time limit for
  /// one operation (local: 2 s, reached only while another process is stopped inside it). On a
  /// thread of the library, as in a completion, it only begins and does not wait for an answer;
  /// `local:` has it at once, within the same limit.
  ~lock();

  /// The name, as it was given. Valid as long as this object.
  const lock_name& name() const noexcept;
  /// The mode that was asked for.
  holdfast::mode mode() const noexcept;

  /// The token of this grant: send it with every protected write. Larger than that of every
  /// exclusive grant of this name before it; shared holders and permits may be granted in another
  /// order than that of their tokens. It can be read after the lock is lost, to find what was
  /// written under it. Zero in a store without tokens (Redlock with `?tokens=off`): then nothing
  /// stops a late writer.
  holdfast::token token() const noexcept;

  /// The token together with its lock and store: what a fence, a fenced log and the guards take.
  /// No I/O to the store.
  ///
  /// Errors:
  /// - `unsupported`: a store without tokens.
  /// - those of store::identity().
  /// - `lost`: in a forked child.
  result<holdfast::fencing_token> fencing_token() const;

  /// How long this process may still act; zero once lost or released. It grows only when a
  /// heartbeat is acknowledged, and counts from the moment when that heartbeat was **sent**. It
  /// may shrink in a store whose node has lost the lock (Redlock).
  duration remaining() const noexcept;

  /// Call before each step on what the lock protects, with the time that the step may take. Zero
  /// asks only whether the lock is still held; a negative duration counts as zero. While it answers
  /// ok, a few atomic loads and one clock read: no I/O, no mutex, never blocks. An error has a
  /// message: that takes memory, and mutexes that are never held for long.
  ///
  /// Errors:
  /// - `lost`: stop the protected work.
  /// - `expiring`: less than `needed` is left, and the lock is still held; a heartbeat may still
  ///   extend it.
  result<void> check(duration needed = duration::zero()) const noexcept;

  /// Stop is requested when the lock is lost, not when it is released. The request comes from a
  /// thread that does no I/O, so a store that hangs cannot delay it; or from a call that finds
  /// the lease over before that thread does, as release() may after a pause. Callbacks registered
  /// on the token run on the thread that makes the request, and must not block.
  std::stop_token lost() const noexcept;

  /// Calls `f` once when the lock is lost, or at once if it is lost already. Its argument is the
  /// reason: `denied` when an operator ended the lock or its session, else `lost`. Replaces an
  /// earlier `f`; an empty one removes it. Not called for a lock that was released or destroyed
  /// first, even if another lock's `f` did that. None that was replaced begins, but it may go on.
  ///
  /// `f` runs on the thread described at lost(), on this one, or inside a release() that finds
  /// the lease over first. So it must not block or throw, take a mutex under which a lock is
  /// released, or use a `local:` store (see session); and the program does not end before it
  /// returns. What `f` uses must not depend on the lock or the session: the call may still be under
  /// way when the lock is destroyed, and when session::close() returns, which waits for it for at
  /// most 2 s. An `f` that owns its lock keeps it held, and its session extended, until it is lost:
  /// let it have a std::weak_ptr.
  void on_lost(std::function<void(const error&)> f);

  /// Gives the lock back: `std::move(l).release()`. Afterwards the lock is over, whatever this
  /// returns: its name and token can be read, and every check reports `lost`, from before the
  /// store is asked. The function given to on_lost() is destroyed before this returns, or, if it
  /// is running, when it returns.
  ///
  /// Errors:
  /// - `lost`: it was lost before.
  /// - `unavailable`, `outcome_unknown`: the store did not answer; it ends with its session at
  ///   the latest.
  /// - `outcome_unknown`: on a thread of the library, unless the answer is there at once.
  /// - `damaged`: what the store has of this lock.
  result<void> release() &&;

  /// release() without blocking: `done` runs exactly once, on this thread before the call
  /// returns, on a thread of the library, or on one of the program's that is blocked in a call of
  /// the library; never under a mutex of the library. It must not block or throw, and must not be
  /// empty.
  void release(completion<void> done) &&;

  // Compilers show these lines.
  void release() & = delete;  ///< Write std::move(l).release(): it ends the lock.
  void release(completion<void> done) & = delete;  ///< Write std::move(l).release(done).

 private:
  friend class client::grant;
  explicit lock(std::shared_ptr<client::grant> g) noexcept;

  std::shared_ptr<client::grant> grant_;
};

template <>
inline constexpr bool detail::has_to_be_kept<lock> = true;
template <>
inline constexpr bool detail::has_to_be_kept<std::vector<lock>> = true;  // session::acquire_all

}  // namespace holdfast
