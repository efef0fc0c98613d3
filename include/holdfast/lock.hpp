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

namespace holdfast {

namespace client {
class grant;
}

/// A lock that was granted. Move-only, and there is no empty one: a failed acquire gives an error.
///
/// |                   | check(needed)           | remaining() | release()  | destructor        |
/// |-------------------|-------------------------|-------------|------------|-------------------|
/// | held, enough left | ok                      | >= `needed` | released   | releases, bounded |
/// | held, less left   | errc::expiring          | > 0         | released   | releases, bounded |
/// | lost              | errc::lost              | 0           | errc::lost | tells nobody      |
/// | released          | errc::lost              | 0           | errc::lost | nothing           |
/// | in a forked child | errc::lost              | 0           | errc::lost | nothing           |
///
/// A held lock becomes lost when its lease ends: that of its session, which then ends all of its
/// locks; or one of its own in a store that extends each lock by itself (Redlock). Such a lock is
/// lost alone, and once it is released or destroyed its name can be acquired again.
///
/// Released or destroyed, a lock that was lost alone still has the store remove what it has left.
///
/// Lost is final: a lock that was lost once never answers ok again, whatever the store says later.
///
/// What it does **not** promise: that a write sent while check() said ok has arrived before the
/// lease ended. A paused machine, a process in an uninterruptible call and a write already in
/// flight are outside any lock's reach; send token() with the write and let the storage refuse an
/// older one. It also trusts CLOCK_BOOTTIME to run within 1 % of real time.
///
/// Thread safety: const functions from any thread; others need the caller's own order. Using a
/// moved-from lock is a programmer's error and stops the program; it may be destroyed and assigned.
class [[nodiscard]] HOLDFAST_EXPORT lock {
 public:
  /// Takes the lock over; `other` may only be destroyed or assigned afterwards.
  lock(lock&& other) noexcept;
  /// Releases what was held before, as the destructor does.
  lock& operator=(lock&&) noexcept;
  /// Gives the lock back without telling how that went: noexcept, and bounded by the engine's own
  /// time limit for one operation (local: 2 s; only while another process is stopped inside it).
  /// On a thread of the library, as in a completion, it only begins to, and waits for nothing.
  ~lock();

  /// What was acquired: the name as it was given. Valid as long as this object.
  const lock_name& name() const noexcept;
  /// How it is held: the mode that was asked for.
  holdfast::mode mode() const noexcept;

  /// The fencing token: send it with every protected write. Larger than that of every exclusive
  /// grant of this name before it; shared holders and permits may be granted in another order than
  /// their tokens'. It stays readable after the lock is lost, to tell what was written under it.
  /// Zero in a store without tokens (Redlock with `?tokens=off`): then nothing stops a late writer.
  holdfast::token token() const noexcept;

  /// The same with the lock and the store that it is of: what a fence, a fenced log and the guards
  /// take. It asks nobody. Errors: `unsupported` in a store without tokens; `unavailable` when this
  /// machine cannot be told from others, which a store named by a loopback address needs; `lost` in
  /// a forked child.
  result<holdfast::fencing_token> fencing_token() const;

  /// How long this process may still act; zero once lost or released. It only grows when a
  /// heartbeat is acknowledged, and counts from the moment that heartbeat was **sent**. It may
  /// shrink in a store whose node has lost the lock (Redlock).
  duration remaining() const noexcept;

  /// Call before each step on what the lock protects, with the time that the step may take. Zero
  /// asks only whether the lock is still held; a negative duration counts as zero. Two atomic loads
  /// and one clock read: no I/O, no mutex, never blocks.
  /// Errors: `lost`; `expiring` when less than `needed` is left of a lock that is held: a heartbeat
  /// may still extend it.
  result<void> check(duration needed = duration::zero()) const noexcept;

  /// Stop is requested when the lock is lost (not when it is released). The signal comes from a
  /// thread that does no I/O, so a store that hangs cannot delay it. Callbacks registered on the
  /// token run on that thread and must not block. A call that finds the lease over before that
  /// thread does, as release() may after a pause, requests stop itself.
  std::stop_token lost() const noexcept;

  /// Calls `f` once with the reason when the lock is lost, at once if it is lost already: `denied`
  /// when an operator ended it or its session, else `lost`. It runs on the thread described at
  /// lost(), on this one, or inside a release() that finds the lease over first: it must not block
  /// or throw, nor take a mutex under which a lock is released, and the program does not end before
  /// it returns. Replaces an earlier `f`; an empty one takes it away. Not called for a lock that
  /// was released or destroyed first, not even where another lock's `f` does that. What `f` uses
  /// has to live by itself: the call may still be under way when the lock is destroyed, and when
  /// session::close() returns, which waits for it 2 s at most.
  void on_lost(std::function<void(const error&)> f);

  /// Gives the lock back and says how that went: `std::move(l).release()`. Afterwards the lock is
  /// over in every case: it may be asked for its name and token, and every check says `lost`, from
  /// before the store is asked. What on_lost() was given is destroyed before this returns, unless
  /// the call of it is under way: then when that returns.
  /// Errors: `lost` when it was lost before; `outcome_unknown` or `unavailable` when the store did
  /// not answer: then it ends with its session at the latest. On a thread of the library, which
  /// must not wait, `outcome_unknown` unless the answer is there at once.
  result<void> release() &&;

  /// The same as a callback: `done` runs exactly once, on this thread before the call returns, on a
  /// thread of the library, or on one of the program's that is blocked in a call of the library;
  /// and never under a mutex of the library. It must not block or throw, and may not be empty.
  void release(completion<void> done) &&;

 private:
  friend class client::grant;
  explicit lock(std::shared_ptr<client::grant> g) noexcept;

  std::shared_ptr<client::grant> grant_;
};

}  // namespace holdfast
