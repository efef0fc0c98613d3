#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::engines::zookeeper {

/// Where a text goes: what must not be in there as it is becomes %XX.
enum class escape_for : std::uint8_t {
  node,  ///< All but printable ASCII, and `/`, `%`, and a dot at the beginning.
  line,  ///< Control characters and `%`.
};
std::string escaped(std::string_view text, escape_for where);
/// Nothing when a % is not followed by two hexadecimal digits.
std::optional<std::string> unescaped(std::string_view text);

}  // namespace holdfast::engines::zookeeper
