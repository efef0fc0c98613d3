#include "core/listed.hpp"

#include "core/assert.hpp"

#include <cstddef>

namespace holdfast::core {

std::string listed(const std::vector<std::string>& names) {
  HOLDFAST_ASSERT(!names.empty());
  std::string text = names.front();
  for (std::size_t i = 1; i < names.size(); ++i) {
    text += (i + 1 < names.size() ? ", " : " and ") + names[i];
  }
  return text;
}

}  // namespace holdfast::core
