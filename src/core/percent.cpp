#include "core/percent.hpp"

#include <optional>

namespace holdfast::core {

namespace {

constexpr std::string_view digits = "0123456789abcdef";

bool escaped(char c, std::string_view also) noexcept {
  return c < '!' || c > '~' || c == '%' || also.find(c) != std::string_view::npos;
}

// Lower case alone, so that no text has two forms.
std::optional<char> byte_of(std::string_view two) noexcept {
  if (two.size() != 2) return std::nullopt;
  const auto high = digits.find(two[0]);
  const auto low = digits.find(two[1]);
  if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
  return static_cast<char>(high << 4 | low);
}

error at(std::size_t byte, const std::string& what) {
  return {errc::invalid_argument, "byte " + std::to_string(byte) + " " + what};
}

}  // namespace

void percent_escape(std::string& out, std::string_view text, std::string_view also) {
  for (const char c : text) {
    if (!escaped(c, also)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
}

result<std::string> percent_unescape(std::string_view text, std::string_view also,
                                     std::size_t offset) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      if (escaped(text[i], also)) return at(offset + i, "must be written %hh");
      out += text[i];
      continue;
    }
    const auto byte = byte_of(text.substr(i + 1, 2));
    if (!byte) return at(offset + i, "is a % without two lower-case hexadecimal digits after it");
    if (!escaped(*byte, also)) return at(offset + i, "escapes a character that is written plainly");
    out += *byte;
    i += 2;
  }
  return out;
}

}  // namespace holdfast::core
