// expect: no match for .operator==
#include <holdfast/error.hpp>

bool is_busy(const holdfast::error& e) {
#if defined(MISUSE)
  return e == 1;
#else
  return e == holdfast::errc::busy;
#endif
}
