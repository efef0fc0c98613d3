// expect: ignoring returned value of type .*result<holdfast::lock>
#include <holdfast/session.hpp>

void work(holdfast::session& s, holdfast::lock_name name) {
#if defined(MISUSE)
  s.acquire(std::move(name));
#else
  if (!s.acquire(std::move(name)).has_value()) return;
#endif
}
