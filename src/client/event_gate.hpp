#pragma once

#include "client/user_code.hpp"

#include <holdfast/observer.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace holdfast::client {

/// Passes events to a session's observer until it is shut; afterwards none, ever, and then it does
/// not own the observer any more, which may own the session.
///
/// Thread safety: every function, from any thread.
class event_gate {
 public:
  explicit event_gate(std::shared_ptr<observer> to) : own_(std::move(to)), to_(own_.get()) {}

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
    // Else who shuts it waits, and gives it up on its own thread.
    if (unwaited_.load()) give_up_if_idle();
  }

  /// No event begins after this, and those under way have ended when it returns. Called from inside
  /// an observer it does not wait: two callbacks that close would wait for each other.
  void shut() noexcept {
    shut_.store(true);
    if (depth > 0) return shut_unwaited();
    for (auto n = under_way_.load(); n > 0; n = under_way_.load()) under_way_.wait(n);
    give_up();
  }
  /// No event begins after this. The last one under way gives the observer up.
  void shut_unwaited() noexcept {
    shut_.store(true);
    unwaited_.store(true);
    give_up_if_idle();
  }

 private:
  /// Counted after it was shut: whoever counts itself later calls nobody.
  void give_up_if_idle() noexcept {
    if (under_way_.load() == 0) give_up();
  }
  /// Two may come here at once, and the observer's end may close the session again.
  void give_up() noexcept {
    if (given_up_.exchange(true)) return;
    const user_code here;
    const auto last = std::move(own_);
  }

  inline static thread_local int depth = 0;

  std::shared_ptr<observer> own_;
  observer* const to_;
  std::atomic<bool> shut_{};
  std::atomic<bool> unwaited_{};
  std::atomic<bool> given_up_{};
  std::atomic<std::int32_t> under_way_{};
};

}  // namespace holdfast::client
