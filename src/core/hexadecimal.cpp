#include "core/hexadecimal.hpp"

#include <charconv>

namespace holdfast::core {

std::string hexadecimal(std::uint64_t value, std::size_t least) {
  std::string text;
  append_hexadecimal(text, value, least);
  return text;
}

void append_hexadecimal(std::string& to, std::uint64_t value, std::size_t least) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, value, 16).ptr;
  const auto count = static_cast<std::size_t>(end - digits);
  to.append(least > count ? least - count : 0, '0').append(digits, end);
}

}  // namespace holdfast::core
