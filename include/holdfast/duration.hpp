#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/export.hpp>

#include <string>
#include <string_view>

namespace holdfast {

/// Reads "1h", "90s", "1m30s", "250ms", "10us", "1.5s". "0s" is zero.
///
/// A unit (h, m, s, ms, us, ns) is required, so that a bare 15 never becomes milliseconds. Each
/// unit comes at most once, from large to small. Only the last part may have a fraction, which
/// must be a whole number of nanoseconds.
///
/// Errors: `invalid_argument` for anything else: no unit, negative, empty, `forever` or more.
HOLDFAST_EXPORT result<duration> parse_duration(std::string_view text);

/// A text that parse_duration() reads back exactly: "1m30s", "1.5s", "250ms", "0s". For people
/// only: `forever` is written "forever", and a negative duration with a leading minus.
HOLDFAST_EXPORT std::string print_duration(duration d);

}  // namespace holdfast
