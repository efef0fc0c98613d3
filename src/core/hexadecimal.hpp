#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::core {

/// A number in lower-case hexadecimal digits, with zeros before it up to `least` digits.
std::string hexadecimal(std::uint64_t value, std::size_t least = 1);
/// The same behind what `to` has.
void append_hexadecimal(std::string& to, std::uint64_t value, std::size_t least = 1);

/// The two lower-case digits of a byte, behind what `to` has.
void append_byte(std::string& to, std::uint8_t byte);

/// What a hexadecimal digit of either case is worth; nothing for another character.
std::optional<std::uint8_t> digit_value(char digit) noexcept;

}  // namespace holdfast::core
