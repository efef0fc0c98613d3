#pragma once

#include <algorithm>
#include <string_view>

namespace holdfast::core {

/// The text up to `mark`, which is taken away with it; all of it when there is none.
inline std::string_view cut(std::string_view& text, char mark) noexcept {
  const auto end = std::min(text.find(mark), text.size());
  const auto part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

}  // namespace holdfast::core
