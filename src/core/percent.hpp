#pragma once

#include <holdfast/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::core {

/// Appends `text` as printable ASCII without spaces: bytes outside `!` to `~`, `%`, and those of
/// `also`, are written `%hh` with lower-case digits.
void percent_escape(std::string& out, std::string_view text, std::string_view also = {});

/// Reads what percent_escape wrote with the same `also`, and nothing else. Errors:
/// `invalid_argument`; byte numbers count from `offset`, where `text` begins in a longer one.
result<std::string> percent_unescape(std::string_view text, std::string_view also = {},
                                     std::size_t offset = 0);

}  // namespace holdfast::core
