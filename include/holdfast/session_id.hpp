#pragma once

#include <holdfast/export.hpp>

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

/// The identity of a session: 128 random bits from the kernel, never used again.
///
/// It is written as 32 lower-case hexadecimal digits everywhere: command line, environment, JSON,
/// logs.
///
/// Thread safety: as a plain value.
struct HOLDFAST_EXPORT session_id {
  std::array<std::uint8_t, 16> bytes{};

  /// The 32 hexadecimal digits, in lower case.
  std::string str() const;
  /// Reads 32 hexadecimal digits, of either case; nothing for any other text.
  static std::optional<session_id> parse(std::string_view text) noexcept;

  friend auto operator<=>(const session_id&, const session_id&) = default;
};

}  // namespace holdfast
