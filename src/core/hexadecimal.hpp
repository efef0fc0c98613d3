#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace holdfast::core {

/// A number in lower-case hexadecimal digits, with zeros before it up to `least` digits.
std::string hexadecimal(std::uint64_t value, std::size_t least = 1);
/// The same behind what `to` has.
void append_hexadecimal(std::string& to, std::uint64_t value, std::size_t least = 1);

}  // namespace holdfast::core
