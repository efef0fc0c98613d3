#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/fencing_token.hpp>
#include <holdfast/lock.hpp>

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

/// \file
/// Write paths that cannot be called without the token of a held lock.
///
/// What they do **not** promise: safety by themselves. Any amount of time may pass between a
/// check and the moment the storage takes the write (a paused process, a slow network, a full
/// queue). A look at the clock afterwards comes too late: others may have read what was written,
/// and an undo may be paused as well. Only the storage sees the order in which writes arrive, so
/// only storage that refuses older tokens is complete: holdfast::fence, holdfast::fenced_log, or
/// a guard of docs/guards.md. The checks here keep most late writes from being sent at all.

namespace holdfast {

/// A write function that gets the token of the lock under which it writes as its first argument.
/// One that takes no token does not compile.
///
///     fenced_write save([&](const fencing_token& t, const row& r) { return table.put(t, r); });
///     auto saved = save(held, 200ms, r);
///
/// Thread safety: that of the function.
template <class Write>
class fenced_write {
 public:
  explicit fenced_write(Write write) : write_(std::move(write)) {}

  /// Runs the write if at least `needed` of the lease is left, which is how long the write may
  /// take. Zero asks only whether the lock is still held. Errors: those of the write; if it was not
  /// run `lost`, `expiring` (less is left) and those of lock::fencing_token.
  template <class... A>
  requires std::invocable<Write&, const fencing_token&, A...>
  auto operator()(const lock& held, duration needed, A&&... a)
      -> detail::as_result_t<std::invoke_result_t<Write&, const fencing_token&, A...>> {
    const auto t = held.fencing_token();
    if (!t) return t.error();
    if (auto valid = held.check(needed); !valid) return valid.error();
    return detail::call_for_result(write_, *t, std::forward<A>(a)...);
  }

 private:
  Write write_;
};

/// For storage that compares no tokens: checks, runs `op`, checks again, and runs `undo` when the
/// lock was lost in between. `op` gets the token and returns a value, nothing, or a result.
///
/// | before     | op        | after | returns                         |
/// |------------|-----------|-------|---------------------------------|
/// | lost       | not run   | -     | `lost`                          |
/// | less left  | not run   | -     | `expiring`                      |
/// | enough left| an error  | any   | that error; nothing is undone   |
/// | enough left| succeeded | held  | its value                       |
/// | enough left| succeeded | lost  | `lost`, after `undo` was run    |
///
/// This is no fence: see above. Between `op` and `undo` others see what was written, and `undo`
/// may come late and hit what the next holder has written: let it compare first ("if it is still
/// mine"). Errors: as in the table, and those of lock::fencing_token.
template <class Op, class Undo>
requires std::invocable<Op, const fencing_token&> && std::invocable<Undo>
auto guarded(const lock& held, duration needed, Op&& op, Undo&& undo)
    -> detail::as_result_t<std::invoke_result_t<Op, const fencing_token&>> {
  const auto t = held.fencing_token();
  if (!t) return t.error();
  if (auto valid = held.check(needed); !valid) return valid.error();
  auto done = detail::call_for_result(std::forward<Op>(op), *t);
  if (!done) return done;
  if (held.check()) return done;
  std::invoke(std::forward<Undo>(undo));
  return error(errc::lost, "the lock " + held.name().printable() +
                               " was lost while the operation ran; it was undone");
}

}  // namespace holdfast
