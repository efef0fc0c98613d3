#include "core/hexadecimal.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace holdfast::core {

namespace {

constexpr std::size_t most = 16;

/// The two digits of every byte: a lock's value has 40 digits.
constexpr auto digits_of_bytes = [] {
  std::array<std::array<char, 2>, 256> all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = {"0123456789abcdef"[i >> 4U], "0123456789abcdef"[i & 15U]};
  }
  return all;
}();

}  // namespace

std::string hexadecimal(std::uint64_t value, std::size_t least) {
  std::string text;
  append_hexadecimal(text, value, least);
  return text;
}

void append_hexadecimal(std::string& to, std::uint64_t value, std::size_t least) {
  const auto needed = (static_cast<std::size_t>(std::bit_width(value | 1U)) + 3) / 4;
  const std::size_t count = std::max(needed, std::min(least, most));
  std::array<char, most> digits;
  for (std::size_t at = most; at > 0; value >>= 8U) {
    at -= 2;
    std::memcpy(digits.data() + at, digits_of_bytes[value & 255U].data(), 2);
  }
  if (least > most) to.append(least - most, '0');
  to.append(digits.data() + most - count, count);
}

void append_byte(std::string& to, std::uint8_t byte) {
  to.append(digits_of_bytes[byte].data(), digits_of_bytes[byte].size());
}

std::optional<std::uint8_t> digit_value(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return static_cast<std::uint8_t>(digit - '0');
  if (digit >= 'a' && digit <= 'f') return static_cast<std::uint8_t>(digit - 'a' + 10);
  if (digit >= 'A' && digit <= 'F') return static_cast<std::uint8_t>(digit - 'A' + 10);
  return std::nullopt;
}

}  // namespace holdfast::core
