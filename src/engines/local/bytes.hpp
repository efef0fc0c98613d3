#pragma once

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

/// Appends fixed-width little-endian numbers and bounded texts.
class writer {
 public:
  explicit writer(std::vector<std::byte>& out) : out_(out) {}

  template <class T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      out_.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i)));
    }
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
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      value |= static_cast<std::uint64_t>(part[i]) << (8 * i);
    }
    return static_cast<T>(value);
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
