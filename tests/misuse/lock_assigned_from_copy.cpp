// expect: use of deleted function .*operator=\(const
#include <holdfast/lock.hpp>

void assign(holdfast::lock& to, holdfast::lock& from) {
#if defined(MISUSE)
  to = from;
#else
  to = std::move(from);
#endif
}
