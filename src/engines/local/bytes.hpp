#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::engines::local {

/// Bytes that somebody else owns: a key or a value inside a transaction.
using bytes = std::span<const std::byte>;

/// The same number with its bytes in the opposite order.
template <class T>
T reversed(T value) {
  auto all = std::as_writable_bytes(std::span(&value, 1));
  std::reverse(all.begin(), all.end());
  return value;
}

/// Appends fixed-width little-endian numbers and bounded texts.
class writer {
 public:
  explicit writer(std::vector<std::byte>& out) : out_(out) {}

  template <class T>
  void number(T value) {
    T little = value;
    if constexpr (std::endian::native == std::endian::big) little = reversed(value);
    raw(std::as_bytes(std::span(&little, 1)));
  }
  void raw(bytes data) { out_.insert(out_.end(), data.begin(), data.end()); }

 private:
  std::vector<std::byte>& out_;
};

/// Reads what writer wrote. Past the end everything is zero or empty and good() is false.
class reader {
 public:
  explicit reader(bytes in) : in_(in) {}

  template <class T>
  T number() {
    const bytes part = raw(sizeof(T));
    T value{};
    if (!part.empty()) std::memcpy(&value, part.data(), sizeof value);
    if constexpr (std::endian::native == std::endian::big) value = reversed(value);
    return value;
  }
  bytes raw(std::size_t size) {
    if (in_.size() < size) {
      good_ = false;
      in_ = {};
      return {};
    }
    const bytes part = in_.first(size);
    in_ = in_.subspan(size);
    return part;
  }
  bytes rest() { return raw(in_.size()); }
  bool good() const noexcept { return good_; }
  bool at_end() const noexcept { return in_.empty(); }

 private:
  bytes in_;
  bool good_{true};
};

inline bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
inline std::string text_of(bytes data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

}  // namespace holdfast::engines::local
