// expect: cannot convert
#include <holdfast/token.hpp>

std::uint64_t number(holdfast::token t) {
#if defined(MISUSE)
  return t;
#else
  return t.value;
#endif
}
