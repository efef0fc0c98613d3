#include "core/percent.hpp"

#include "core/hexadecimal.hpp"

#include <algorithm>
#include <optional>

namespace holdfast::core {

namespace {

bool escaped(char c, std::string_view also) noexcept {
  return c < '!' || c > '~' || c == '%' || also.find(c) != std::string_view::npos;
}

// Lower case alone, so that no text has two forms.
std::optional<char> byte_of(std::string_view two) noexcept {
  const bool upper = std::ranges::any_of(two, [](char c) { return c >= 'A' && c <= 'F'; });
  if (two.size() != 2 || upper) return std::nullopt;
  const auto high = digit_value(two[0]);
  const auto low = digit_value(two[1]);
  if (!high || !low) return std::nullopt;
  return static_cast<char>(*high << 4 | *low);
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
    out += '%';
    append_byte(out, static_cast<std::uint8_t>(c));
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
