#pragma once

#include <string>
#include <string_view>

namespace holdfast::cli {

/// The text without what in it is a duration, such as "2s", "1m30s" or "1.5ms": two messages that
/// differ in nothing else say the same at two moments.
std::string but_for_durations(std::string_view text);

}  // namespace holdfast::cli
