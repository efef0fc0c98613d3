// expect: use of deleted function .*lock::lock\(const
#include <holdfast/lock.hpp>

holdfast::lock second(holdfast::lock& first) {
#if defined(MISUSE)
  return first;
#else
  return std::move(first);
#endif
}
