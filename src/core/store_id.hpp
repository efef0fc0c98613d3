#pragma once

#include <holdfast/session_id.hpp>

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::core {

/// The identity of a store, which is drawn and written as a session's is, and is none.
struct store_id {
  session_id bits{};  ///< All zero: not known.

  std::string str() const { return bits.str(); }
  /// Reads what str() wrote; nothing for any other text.
  static std::optional<store_id> parse(std::string_view text) noexcept {
    const auto bits = session_id::parse(text);
    if (!bits) return std::nullopt;
    return store_id{*bits};
  }

  friend auto operator<=>(const store_id&, const store_id&) = default;
};

}  // namespace holdfast::core
