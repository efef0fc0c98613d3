#include "core/assert.hpp"

#include <cstdio>
#include <exception>

namespace holdfast::core {

void fail(const char* what) noexcept {
  std::fputs("holdfast: ", stderr);
  std::fputs(what, stderr);
  std::fputs("\n", stderr);
  std::terminate();
}

}  // namespace holdfast::core
