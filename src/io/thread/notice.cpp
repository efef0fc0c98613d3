#include "io/thread/notice.hpp"

namespace holdfast::io {

namespace {

/// The notices that this thread is inside of: disarming one of them must not wait for itself.
struct frame {
  const notice* of;
  const frame* outer;
};

thread_local const frame* innermost = nullptr;

int depth_of(const notice* n) noexcept {
  int depth = 0;
  for (const frame* f = innermost; f != nullptr; f = f->outer) depth += f->of == n ? 1 : 0;
  return depth;
}

}  // namespace

void notice::fire() {
  {
    const held_mutex guard(mutex_);
    if (disarmed_) return;
    ++running_;
  }
  const frame here{this, innermost};
  innermost = &here;
  notify_();
  innermost = here.outer;
  const held_mutex guard(mutex_);
  --running_;
  idle_.notify_all();
}

void notice::disarm() {
  const int mine = depth_of(this);
  const held_mutex guard(mutex_);
  disarmed_ = true;
  // All but those that this thread is inside of, which end behind this call.
  while (running_ != mine) idle_.wait(mutex_);
}

}  // namespace holdfast::io
