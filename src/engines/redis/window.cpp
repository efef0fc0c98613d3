#include "engines/redis/window.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engines::redis {

namespace {

constexpr std::size_t room_most = 256;
/// An entry and its session are less than 200 bytes of an answer.
constexpr std::size_t listed_most = 40'000;

}  // namespace

void window::enter(question q) {
  {
    const std::lock_guard hold(mutex_);
    if (!waiting_.empty() || under_way_ >= room_) return waiting_.push_back(std::move(q));
    ++under_way_;
  }
  q();
}

void window::leave(std::optional<std::size_t> listed) {
  std::vector<question> next;
  {
    const std::lock_guard hold(mutex_);
    --under_way_;
    if (listed) {
      listed_ = std::max(*listed, listed_ - listed_ / 8);
      const std::size_t most = std::clamp(listed_most / (listed_ + 1), std::size_t{1}, room_most);
      room_ = std::min(2 * room_, most);
    } else {
      room_ = room_at_first;
    }
    while (!waiting_.empty() && (!listed || under_way_ < room_)) {
      next.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
      ++under_way_;
    }
  }
  for (const auto& q : next) q();
}

void window::flush() {
  std::deque<question> all;
  {
    const std::lock_guard hold(mutex_);
    all.swap(waiting_);
    under_way_ += all.size();
  }
  for (const auto& q : all) q();
}

}  // namespace holdfast::engines::redis
