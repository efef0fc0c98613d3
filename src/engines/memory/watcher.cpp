#include "engines/memory/watcher.hpp"

#include <algorithm>

namespace holdfast::engines::memory {

namespace {

/// The notifications that this thread is inside of: disarming one of them must not wait for itself.
struct frame {
  const watcher* of;
  const frame* outer;
};

thread_local const frame* innermost = nullptr;

int depth_of(const watcher* w) noexcept {
  int n = 0;
  for (const frame* f = innermost; f != nullptr; f = f->outer) n += f->of == w ? 1 : 0;
  return n;
}

}  // namespace

bool watcher::hit(const core::ledger& l) const {
  return std::any_of(what_.targets.begin(), what_.targets.end(),
                     [&](token t) { return !l.alive(what_.name, t); });
}

void watcher::fire() {
  {
    const std::lock_guard guard(mutex_);
    if (disarmed_) return;
    ++running_;
  }
  const frame here{this, innermost};
  innermost = &here;
  notify_();
  innermost = here.outer;
  const std::lock_guard guard(mutex_);
  --running_;
  idle_.notify_all();
}

void watcher::disarm() {
  const int mine = depth_of(this);
  std::unique_lock guard(mutex_);
  disarmed_ = true;
  idle_.wait(guard, [&] { return running_ == mine; });
}

}  // namespace holdfast::engines::memory
