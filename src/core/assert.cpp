#include "core/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace holdfast::core {

void fail(const char* what) noexcept {
  std::fputs("holdfast: ", stderr);
  std::fputs(what, stderr);
  std::fputs("\n", stderr);
  // What std::terminate() says by itself would be the last line, and no use to anybody.
  std::abort();
}

}  // namespace holdfast::core
