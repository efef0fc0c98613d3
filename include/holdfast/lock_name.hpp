#pragma once

#include <holdfast/error.hpp>
#include <holdfast/export.hpp>

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast {

/// The name of a lock: a type of its own, so that it is never passed where another text goes.
///
/// A name is 1 to 512 bytes, any byte except control characters (0x00-0x1f and 0x7f). Names are
/// compared byte for byte: no case folding, no Unicode normalisation, no path rules.
///
/// An object may hold any text. check() reports whether it is a name, and every operation that
/// takes a name reports `invalid_argument` if it is not. A store may refuse more: where names are
/// keys (Redlock), it refuses those that begin with `holdfast:`, which are its own.
///
/// Thread safety: as a plain value.
class HOLDFAST_EXPORT lock_name {
 public:
  /// The limit of a name, in bytes of its encoding, not in characters.
  static constexpr std::size_t bytes_max = 512;

  /// Keeps `text` as it is and never fails; check() validates it.
  explicit lock_name(std::string text) : text_(std::move(text)) {}

  /// The bytes, as they were given; for people use printable().
  const std::string& str() const noexcept { return text_; }

  /// Success for a name; else `invalid_argument`, with the byte that is wrong, where, and why.
  result<void> check() const;

  /// The name for a terminal or a log line: quotes, backslashes and bytes that are not printable
  /// ASCII or valid UTF-8 are written as `\xHH`. It cannot be read back.
  std::string printable() const;

  friend auto operator<=>(const lock_name&, const lock_name&) = default;

 private:
  std::string text_;
};

}  // namespace holdfast
