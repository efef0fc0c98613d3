#include "engines/redis/window.hpp"

#include "core/assert.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace holdfast::engines::redis {

namespace {

constexpr std::size_t room_most = 256;
/// An entry and its session are less than 200 bytes of an answer.
constexpr std::size_t listed_most = 40'000;

}  // namespace

void window::enter(question q) {
  {
    const io::held_mutex hold(mutex_);
    if (!waiting_.empty() || under_way_ >= room_) return waiting_.push_back(std::move(q));
    ++under_way_;
  }
  q.ask();
}

void window::answered(std::size_t listed) {
  std::size_t room{};
  {
    const io::held_mutex hold(mutex_);
    HOLDFAST_ASSERT(under_way_ > 0);
    // One short answer does not make room for many long ones.
    listed_ = std::max(listed, listed_ - listed_ / 8);
    const std::size_t most = std::clamp(listed_most / (listed_ + 1), std::size_t{1}, room_most);
    room = room_ = std::min(2 * room_, most);
    --under_way_;
  }
  let_in(room);
}

void window::unanswered() {
  std::deque<question> all;
  {
    const io::held_mutex hold(mutex_);
    HOLDFAST_ASSERT(under_way_ > 0);
    room_ = room_at_first;
    --under_way_;
    all.swap(waiting_);
  }
  // Each of them would wait for a node timeout of its own on a server that hangs. They were not
  // sent: who has time left asks again.
  for (const auto& q : all) q.give_up();
}

void window::refused() {
  {
    const io::held_mutex hold(mutex_);
    HOLDFAST_ASSERT(under_way_ > 0);
    room_ = room_at_first;
    --under_way_;
  }
  flush();
}

void window::let_in(std::size_t room) {
  std::vector<question> next;
  {
    const io::held_mutex hold(mutex_);
    while (!waiting_.empty() && under_way_ < room) {
      next.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
      ++under_way_;
    }
  }
  for (const auto& q : next) q.ask();
}

void window::flush() {
  std::deque<question> all;
  {
    const io::held_mutex hold(mutex_);
    all.swap(waiting_);
    under_way_ += all.size();
  }
  for (const auto& q : all) q.ask();
}

}  // namespace holdfast::engines::redis
