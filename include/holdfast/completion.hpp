#pragma once

#include <holdfast/error.hpp>

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace holdfast {

namespace detail {
/// Whether an F may be empty itself, and then equals nullptr. A lambda may be comparable, too.
template <class F>
inline constexpr bool may_be_null = std::is_pointer_v<F> || std::is_member_pointer_v<F>;
template <class Signature>
inline constexpr bool may_be_null<std::function<Signature>> = true;
}  // namespace detail

/// A move-only callable that takes one result and runs once. (std::move_only_function is C++23.)
///
/// |       | bool  | operator()                   | destructor                     |
/// |-------|-------|------------------------------|--------------------------------|
/// | full  | true  | runs it, then it is empty    | drops it without running it    |
/// | empty | false | a programmer's error: stops  | does nothing                   |
///
/// A completion that a session was given is never dropped: it runs exactly once, also when the
/// session closes, and then perhaps after session::close() or the session's destructor has
/// returned. The exception is one that still waits when main() has returned (docs/cpp.md).
///
/// Thread safety: as a plain value. It may run on another thread than the one that made it, so
/// what it captures must be usable there.
template <class T>
class completion {
 public:
  /// Makes an empty one.
  completion() = default;
  /// Takes anything that can be called with a `result<T>`; it need not be copyable. A null pointer
  /// and an empty std::function make an empty one.
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, completion> &&
           std::is_invocable_v<std::decay_t<F>&&, result<T>>)
      completion(F&& f) {  // NOLINT(google-explicit-constructor): a lambda is passed as it is.
    if constexpr (detail::may_be_null<std::remove_cvref_t<F>>) {
      if (f == nullptr) return;
    }
    call_ = std::make_unique<model<std::decay_t<F>>>(std::forward<F>(f));
  }

  /// Whether it is full.
  explicit operator bool() const noexcept { return call_ != nullptr; }

  /// Runs it with `r`. It is empty before the callee runs, so the callee may assign to it.
  void operator()(result<T> r) {
    if (!call_) detail::bad_access("an empty completion was called");
    std::exchange(call_, nullptr)->run(std::move(r));
  }

 private:
  struct callable {
    virtual ~callable() = default;
    virtual void run(result<T> r) = 0;
  };
  template <class F>
  struct model final : callable {
    template <class G>
    explicit model(G&& g) : f(std::forward<G>(g)) {}
    void run(result<T> r) override { std::move(f)(std::move(r)); }
    F f;
  };
  std::unique_ptr<callable> call_;
};

}  // namespace holdfast
