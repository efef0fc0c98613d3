#include "io/thread/turn.hpp"

#include "io/thread/background.hpp"
#include "io/thread/latch.hpp"

#include <asio/post.hpp>

#include <chrono>

namespace holdfast::io {

namespace {

/// For so long an answer that nobody blocks for may wait after the last turn that was lent.
constexpr std::chrono::milliseconds rest_time{1};
/// To take the turn from the own thread costs two switches: not for a caller that comes once.
constexpr int calls_alone = 8;

}  // namespace

void turn::run_own() noexcept {
  held_mutex hold(mutex_);
  while (!context_.stopped()) {
    if (!may_begin()) continue;
    own_ = true;
    recalled_ = false;
    seen_ = lends_;
    running_here = &context_;
    hold.unlock();
    while (!wanted_ && context_.run_one() > 0) {
    }
    hold.lock();
    running_here = nullptr;
    own_ = false;
    changed_.notify_all();
  }
}

/// False: look again, for something has changed, or a rest is over.
bool turn::may_begin() {
  if (wanted_ || lent_) {
    const auto of = lends_;
    const auto rested = std::chrono::steady_clock::now() + rest_time;
    while (!context_.stopped() && (!recalled_ || wanted_ || lent_) &&
           changed_.wait_until(mutex_, rested)) {
    }
    // Short turns follow each other unwatched; at the end of a long one the own thread is woken.
    if (lent_ && lends_ == of) {
      asleep_ = true;
      while (lent_ && !context_.stopped()) changed_.wait(mutex_);
      asleep_ = false;
    }
    return false;
  }
  if (recalled_ || lends_ == seen_) return true;
  seen_ = lends_;
  const auto rested = std::chrono::steady_clock::now() + rest_time;
  while (!context_.stopped() && !recalled_ && !wanted_ && !lent_ &&
         changed_.wait_until(mutex_, rested)) {
  }
  return false;
}

void turn::lend(core::parking& until) noexcept {
  if (blocked_.fetch_add(1) > 0) {
    recall();
  } else if (begin_lent()) {
    const library_work here;
    // From here on whoever opens the word calls opened().
    if (until.announce_sleep_in(*this)) {
      while (!until.is_open() && blocked_ == 1 && context_.run_one() > 0) {
      }
      until.awake();
    }
    end_lent();
  }
  latch::wait_for(until);
  blocked_.fetch_sub(1);
}

bool turn::begin_lent() noexcept {
  const held_mutex hold(mutex_);
  if (context_.stopped()) return false;
  if (own_) {
    if (++alone_ < calls_alone) return false;
    wanted_ = true;
    // Whoever is inside of run_one() comes back only behind a task.
    asio::post(context_, [] {});
    while (own_) changed_.wait(mutex_);
    wanted_ = false;
  }
  lent_ = true;
  ++lends_;
  running_here = &context_;
  return true;
}

void turn::end_lent() noexcept {
  const held_mutex hold(mutex_);
  running_here = nullptr;
  lent_ = false;
  // Two at a time are served by the own thread, without its rest.
  if (blocked_ > 1) recalled_ = true;
  if (recalled_ || asleep_) changed_.notify_all();
}

void turn::recall() noexcept {
  const held_mutex hold(mutex_);
  alone_ = 0;
  if (own_) return;
  recalled_ = true;
  // The caller that has the turn is to give it up.
  if (lent_) asio::post(context_, [] {});
  changed_.notify_all();
}

void turn::opened() noexcept {
  // Its thread may wait for a socket inside of run_one().
  if (!is_here()) asio::post(context_, [] {});
}

void turn::stopped() noexcept {
  const held_mutex hold(mutex_);
  changed_.notify_all();
}

}  // namespace holdfast::io
