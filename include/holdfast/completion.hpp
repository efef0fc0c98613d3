#pragma once

#include <holdfast/error.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace holdfast {

/// A move-only callable that takes one result and runs once (std::move_only_function is C++23).
///
/// Thread safety: as a plain value. Running it a second time, or running an empty one, is a
/// programmer's error. One that is destroyed without being run is simply dropped.
template <class T>
class completion {
 public:
  completion() = default;
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, completion> &&
           std::is_invocable_v<std::decay_t<F>&&, result<T>>)
      completion(F&& f)  // NOLINT(google-explicit-constructor): a lambda is passed as it is.
      : call_(std::make_unique<model<std::decay_t<F>>>(std::forward<F>(f))) {}

  explicit operator bool() const noexcept { return call_ != nullptr; }

  void operator()(result<T> r) {
    if (!call_) detail::bad_access("an empty completion");
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
