#pragma once

#include "client/user_code.hpp"

#include <holdfast/observer.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace holdfast::client {

/// Passes events to a session's observer until it is shut; afterwards none, ever.
///
/// Thread safety: every function, from any thread.
class event_gate {
 public:
  explicit event_gate(std::shared_ptr<observer> to) : to_(std::move(to)) {}

  bool wanted() const noexcept { return to_ != nullptr; }

  template <class Event>
  void emit(const Event& e) noexcept {
    if (!to_) return;
    under_way_.fetch_add(1);
    if (!shut_.load()) {
      ++depth;
      const user_code here;
      to_->on(e);
      --depth;
    }
    under_way_.fetch_sub(1);
    under_way_.notify_all();
  }

  /// No event begins after this, and those under way have ended when it returns. Called from inside
  /// an observer it does not wait: two callbacks that close would wait for each other.
  void shut() noexcept {
    shut_.store(true);
    if (depth > 0) return;
    for (auto n = under_way_.load(); n > 0; n = under_way_.load()) under_way_.wait(n);
  }
  /// No event begins after this.
  void shut_unwaited() noexcept { shut_.store(true); }

 private:
  inline static thread_local int depth = 0;

  std::shared_ptr<observer> to_;
  std::atomic<bool> shut_{};
  std::atomic<std::int32_t> under_way_{};
};

}  // namespace holdfast::client
