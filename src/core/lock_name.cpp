#include "core/control_character.hpp"
#include "core/hexadecimal.hpp"

#include <holdfast/lock_name.hpp>

#include <cstdint>
#include <string>

namespace holdfast {

namespace {

std::string hex(unsigned char byte) {
  std::string text = "\\x";
  core::append_byte(text, byte);
  return text;
}

struct code_point {
  std::uint32_t value{};
  std::size_t length{};  ///< Zero: not valid UTF-8.
};

/// One character beside ASCII at `at`, by table 3-7 of the Unicode Standard.
code_point decode(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0xc2   ? 0
                             : lead < 0xe0 ? 2
                             : lead < 0xf0 ? 3
                             : lead < 0xf5 ? 4
                                           : 0;
  if (length == 0 || text.size() - at < length) return {};
  std::uint32_t value = lead & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3fU);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (overlong || surrogate || value > 0x10ffff) return {};
  return {value, length};
}

/// C1 controls steer terminals, and bidirectional controls reorder what a reader sees.
bool misleads(std::uint32_t value) noexcept {
  return value < 0xa0 || value == 0x061c || value == 0x200e || value == 0x200f ||
         (value >= 0x2028 && value <= 0x202e) || (value >= 0x2066 && value <= 0x2069);
}

}  // namespace

result<void> lock_name::check() const {
  if (text_.empty())
    return error(errc::invalid_argument, "a lock name is empty; it needs 1 to 512 bytes");
  if (text_.size() > bytes_max) {
    return error(errc::invalid_argument,
                 "a lock name has " + std::to_string(text_.size()) + " bytes; 512 are allowed");
  }
  for (std::size_t i = 0; i < text_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text_[i]);
    if (!core::is_control(byte)) continue;
    return error(errc::invalid_argument, "lock name \"" + printable() + "\": byte " +
                                             std::to_string(i) + " is the control character " +
                                             hex(byte) + "; names have none");
  }
  return {};
}

std::string lock_name::printable() const {
  std::string out;
  out.reserve(text_.size());
  for (std::size_t i = 0; i < text_.size();) {
    const auto byte = static_cast<unsigned char>(text_[i]);
    if (byte < 0x80) {
      const bool plain = !core::is_control(byte) && byte != '"' && byte != '\'' && byte != '\\';
      if (plain) {
        out += text_[i];
      } else {
        out += hex(byte);
      }
      ++i;
      continue;
    }
    const code_point c = decode(text_, i);
    if (c.length != 0 && !misleads(c.value)) {
      out.append(text_, i, c.length);
      i += c.length;
    } else {
      out += hex(byte);
      ++i;
    }
  }
  return out;
}

}  // namespace holdfast
