// expect: no matching function for call to .*lock::lock\(\)
#include <holdfast/lock.hpp>

void keep(holdfast::lock& held) {
#if defined(MISUSE)
  holdfast::lock mine;
  mine = std::move(held);
#else
  holdfast::lock mine = std::move(held);
#endif
}
