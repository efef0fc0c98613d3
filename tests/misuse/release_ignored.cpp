// expect: ignoring returned value of type .*result<void>
#include <holdfast/lock.hpp>

void give_back(holdfast::lock& held) {
#if defined(MISUSE)
  std::move(held).release();
#else
  if (!std::move(held).release()) return;
#endif
}
