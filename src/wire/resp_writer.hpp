#pragma once

#include "core/assert.hpp"

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace holdfast::wire {

/// A number that is written in decimal; a character or a truth value is more likely a mistake.
template <class T>
concept decimal = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>;

/// Appends commands to a buffer that somebody else owns and sends. RESP2 and RESP3 write them the
/// same way: an array of bulk strings. Allocates nothing but what the buffer grows by.
class resp_writer {
 public:
  explicit resp_writer(std::string& out) noexcept : out_(out) {}

  /// A whole command: `command("SET", key, value, "NX", "PX", 30'000)`.
  template <class... Arguments>
  void command(const Arguments&... arguments) {
    begin(sizeof...(arguments));
    (argument(arguments), ...);
  }

  /// A command of `arguments` parts, its name included; as many calls of argument() must follow.
  void begin(std::size_t arguments) {
    HOLDFAST_ASSERT(missing_ == 0 && arguments > 0);
    missing_ = arguments;
    head('*', arguments);
  }

  void argument(std::string_view bytes) {
    HOLDFAST_ASSERT(missing_ > 0);
    --missing_;
    head('$', bytes.size());
    out_.append(bytes);
    out_.append("\r\n", 2);
  }

  template <decimal T>
  void argument(T value) {
    char digits[std::numeric_limits<T>::digits10 + 2];
    const char* end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    argument(std::string_view(digits, static_cast<std::size_t>(end - digits)));
  }

  /// Whether the last command has all its arguments, so that the buffer may be sent.
  bool whole() const noexcept { return missing_ == 0; }

 private:
  void head(char type, std::size_t count) {
    char line[24];
    line[0] = type;
    char* end = std::to_chars(line + 1, line + sizeof line - 2, count).ptr;
    *end++ = '\r';
    *end++ = '\n';
    out_.append(line, static_cast<std::size_t>(end - line));
  }

  std::string& out_;
  std::size_t missing_{0};
};

}  // namespace holdfast::wire
