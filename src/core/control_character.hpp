#pragma once

namespace holdfast::core {

/// A character of ASCII that is not shown but moves the cursor, ends a line, or worse.
constexpr bool is_control(unsigned char byte) noexcept { return byte < 0x20 || byte == 0x7f; }

}  // namespace holdfast::core
