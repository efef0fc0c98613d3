#include "core/hexadecimal.hpp"

#include <holdfast/session_id.hpp>

namespace holdfast {

std::string session_id::str() const {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::uint8_t b : bytes) core::append_byte(text, b);
  return text;
}

std::optional<session_id> session_id::parse(std::string_view text) noexcept {
  session_id id;
  if (text.size() != 2 * id.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    const auto high = core::digit_value(text[2 * i]);
    const auto low = core::digit_value(text[2 * i + 1]);
    if (!high || !low) return std::nullopt;
    id.bytes[i] = static_cast<std::uint8_t>(*high * 16 + *low);
  }
  return id;
}

}  // namespace holdfast
