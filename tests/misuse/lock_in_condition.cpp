// expect: use of deleted function .*operator bool
#include <holdfast/session.hpp>

void work(holdfast::session& s, const holdfast::lock_name& name, void step()) {
#if defined(MISUSE)
  if (s.try_acquire(name)) step();
#else
  if (auto held = s.try_acquire(name); held) step();
  if (auto held = s.try_acquire(name)) step();
  if (s.try_acquire(name).has_value()) return;
  if (const auto held = s.try_acquire(name); !held || !held->check()) return;
#endif
}
