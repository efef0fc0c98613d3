#pragma once

#include "core/assert.hpp"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

namespace holdfast::wire {

/// A number that is written in decimal; a character or a truth value is more likely a mistake.
template <class T>
concept decimal = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>;

/// One part of a command whose bytes are in two places: a key's prefix and a name.
struct joined {
  std::string_view first;
  std::string_view second;
};

/// Appends commands to a buffer that somebody else owns and sends. RESP2 and RESP3 write them the
/// same way: an array of bulk strings. Allocates nothing but what the buffer grows by.
class resp_writer {
 public:
  explicit resp_writer(std::string& out) noexcept : out_(out) {}

  /// A whole command: `command("SET", key, value, "NX", "PX", 30'000)`.
  template <class... Arguments>
  void command(const Arguments&... arguments) {
    static_assert(sizeof...(arguments) > 0);
    HOLDFAST_ASSERT(missing_ == 0);
    const std::size_t before = out_.size();
    out_.resize(before + head_bytes_max + (room_for(arguments) + ...));
    char* at = put_head(out_.data() + before, '*', sizeof...(arguments));
    ((at = put(at, arguments)), ...);
    cut_at(at);
  }

  /// A command of `arguments` parts, its name included; as many calls of argument() must follow.
  void begin(std::size_t arguments) {
    HOLDFAST_ASSERT(missing_ == 0 && arguments > 0);
    missing_ = arguments;
    const std::size_t before = out_.size();
    out_.resize(before + head_bytes_max);
    cut_at(put_head(out_.data() + before, '*', arguments));
  }

  /// The next part: bytes, or a number in decimal.
  template <class Argument>
  void argument(const Argument& value) {
    HOLDFAST_ASSERT(missing_ > 0);
    --missing_;
    const std::size_t before = out_.size();
    out_.resize(before + room_for(value));
    cut_at(put(out_.data() + before, value));
  }

  /// Whether the last command has all its arguments, so that the buffer may be sent.
  bool whole() const noexcept { return missing_ == 0; }

 private:
  // A type, the 20 digits of 64 bits, CR and LF.
  static constexpr std::size_t head_bytes_max = 23;

  static std::size_t room_for(std::string_view bytes) { return head_bytes_max + bytes.size() + 2; }
  static std::size_t room_for(const joined& bytes) {
    return room_for(bytes.first) + bytes.second.size();
  }
  template <decimal T>
  static constexpr std::size_t room_for(T) {
    return 2 * head_bytes_max;
  }

  static char* put_line_end(char* at) {
    *at++ = '\r';
    *at++ = '\n';
    return at;
  }
  static char* put_head(char* at, char type, std::size_t count) {
    *at++ = type;
    return put_line_end(std::to_chars(at, at + head_bytes_max, count).ptr);
  }
  static char* put(char* at, std::string_view bytes) {
    at = put_head(at, '$', bytes.size());
    return put_line_end(std::copy(bytes.begin(), bytes.end(), at));
  }
  static char* put(char* at, const joined& bytes) {
    at = put_head(at, '$', bytes.first.size() + bytes.second.size());
    at = std::copy(bytes.first.begin(), bytes.first.end(), at);
    return put_line_end(std::copy(bytes.second.begin(), bytes.second.end(), at));
  }
  template <decimal T>
  static char* put(char* at, T value) {
    char digits[head_bytes_max];
    const char* end = std::to_chars(digits, std::end(digits), value).ptr;
    return put(at, std::string_view(digits, static_cast<std::size_t>(end - digits)));
  }

  // Each part is written into room for its longest form; the rest of that room is given back.
  void cut_at(const char* end) { out_.resize(static_cast<std::size_t>(end - out_.data())); }

  std::string& out_;
  std::size_t missing_{0};
};

}  // namespace holdfast::wire
