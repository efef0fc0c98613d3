#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace holdfast::core {

/// All of `text` as one number that fits into T, or nothing: no blanks, no '+', no prefix, and a
/// '-' only where T is signed. Zeros may lead, and hexadecimal digits are of either case.
template <class T>
std::optional<T> whole_number(std::string_view text, int base = 10) noexcept {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [at, failed] = std::from_chars(text.data(), end, value, base);
  if (failed != std::errc{} || at != end) return std::nullopt;
  return value;
}

}  // namespace holdfast::core
