#include "engines/redlock/stages.hpp"

#include "core/assert.hpp"
#include "io/thread/loop.hpp"

#include <utility>

namespace holdfast::engines::redlock {

namespace {

/// Long enough for memory to answer, and not so long that it is gone again.
constexpr std::size_t ahead = 2;

}  // namespace

bool stages::gathers() const noexcept { return loop_.on_thread() && is_gathering_; }

bool stages::sends_later() const noexcept {
  return loop_.on_thread() && (is_running_ || holds_back());
}

void stages::add(stage s, std::shared_ptr<staged> who) {
  HOLDFAST_ASSERT(s == stage::send ? sends_later() : gathers());
  waiting(s).push_back(std::move(who));
  if (s == stage::send) holds_back_.store(true, std::memory_order_release);
}

void stages::begin() noexcept {
  HOLDFAST_ASSERT(!is_gathering_ && !is_running_);
  is_gathering_ = true;
}

void stages::end() {
  HOLDFAST_ASSERT(is_gathering_ && !is_running_);
  is_gathering_ = false;
  is_running_ = true;
  run(stage::lock_is_free);
  run(stage::round_ended);
  is_running_ = false;
  send();
}

void stages::send() {
  run(stage::send);
  auto& more = waiting(stage::send);
  if (more.empty()) return holds_back_.store(false, std::memory_order_release);
  // One that cannot send fails at once, and may ask again and again: others come in between.
  if (std::exchange(goes_on_, true)) return;
  loop_.post([this, alive = more.front()] {
    goes_on_ = false;
    send();
  });
}

void stages::run(stage s) {
  HOLDFAST_ASSERT(running_.empty());
  running_.swap(waiting(s));
  for (std::size_t i = 0; i < running_.size(); ++i) {
    if (i + ahead < running_.size()) running_[i + ahead]->fetch();
    running_[i]->run();
  }
  running_.clear();
}

}  // namespace holdfast::engines::redlock
