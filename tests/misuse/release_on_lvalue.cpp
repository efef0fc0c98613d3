// expect: deleted (member )?function .*release
#include <holdfast/lock.hpp>

holdfast::result<void> give_back(holdfast::lock& held) {
#if defined(MISUSE)
  return held.release();
#else
  return std::move(held).release();
#endif
}
