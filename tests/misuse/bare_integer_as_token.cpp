// expect: no match for .operator<
#include <holdfast/token.hpp>

bool older(holdfast::token t) {
#if defined(MISUSE)
  return t < 17;
#else
  return t < holdfast::token{17};
#endif
}
