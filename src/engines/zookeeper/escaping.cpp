#include "engines/zookeeper/escaping.hpp"

#include "core/hexadecimal.hpp"
#include "core/whole_number.hpp"

#include <cstdint>

namespace holdfast::engines::zookeeper {

namespace {

bool is_plain(std::uint8_t byte, bool first, escape_for where) {
  if (byte == '%' || byte < 0x20 || byte == 0x7f) return false;
  if (where == escape_for::line) return true;
  // No node can be called . or .. there.
  return byte > 0x20 && byte < 0x7f && byte != '/' && !(first && byte == '.');
}

}  // namespace

std::string escaped(std::string_view text, escape_for where) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (is_plain(byte, out.empty(), where)) {
      out += c;
    } else {
      out += '%';
      core::append_byte(out, byte);
    }
  }
  return out;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return {};
    const auto byte = core::whole_number<std::uint8_t>(text.substr(i + 1, 2), 16);
    if (!byte) return {};
    out += static_cast<char>(*byte);
    i += 2;
  }
  return out;
}

}  // namespace holdfast::engines::zookeeper
