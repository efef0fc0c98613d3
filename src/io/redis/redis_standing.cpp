#include "io/redis/redis_standing.hpp"

#include <chrono>

namespace holdfast::io {

std::optional<error> redis_standing::trouble() const {
  const held_mutex hold(mutex_);
  if (phase_ == phase::up) return std::nullopt;
  return why_down_;
}

error redis_standing::why_down() const {
  const held_mutex hold(mutex_);
  return why_down_;
}

std::uint64_t redis_standing::ups() const {
  const held_mutex hold(mutex_);
  return ups_;
}

bool redis_standing::come_up() {
  const held_mutex hold(mutex_);
  if (phase_ != phase::down) return false;
  phase_ = phase::up;
  is_up_ = true;
  ++ups_;
  return true;
}

void redis_standing::go_down(const error& why) {
  const held_mutex hold(mutex_);
  if (phase_ == phase::closing || phase_ == phase::ended) return;
  phase_ = phase::down;
  is_up_ = false;
  why_down_ = why;
}

void redis_standing::explain(const error& why) {
  const held_mutex hold(mutex_);
  if (phase_ == phase::down) why_down_ = why;
}

bool redis_standing::close(error why) {
  const held_mutex hold(mutex_);
  if (phase_ == phase::closing || phase_ == phase::ended) return false;
  was_up_ = phase_ == phase::up;
  phase_ = phase::closing;
  is_up_ = false;
  why_down_ = std::move(why);
  return true;
}

bool redis_standing::is_closed() const {
  const held_mutex hold(mutex_);
  return phase_ == phase::closing || phase_ == phase::ended;
}

bool redis_standing::was_up() const {
  const held_mutex hold(mutex_);
  return was_up_;
}

void redis_standing::end() {
  const held_mutex hold(mutex_);
  phase_ = phase::ended;
  has_ended_.notify_all();
}

void redis_standing::await_end(duration limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  const held_mutex hold(mutex_);
  while (phase_ != phase::ended && has_ended_.wait_until(mutex_, until)) {
  }
}

}  // namespace holdfast::io
