#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/export.hpp>

#include <string>
#include <string_view>

namespace holdfast {

/// Reads "1h", "90s", "1m30s", "250ms", "10us", "1.5s". A unit (h, m, s, ms, us, ns) is required,
/// so that nobody's bare 15 becomes milliseconds. Units come once each, from large to small; only
/// the last part may have a fraction, of whole nanoseconds. "0s" is zero.
///
/// Errors: `invalid_argument` for anything else: no unit, negative, empty, `forever` or more.
HOLDFAST_EXPORT result<duration> parse_duration(std::string_view text);

/// A text that parse_duration() reads back exactly: "1m30s", "1.5s", "250ms", "0s".
/// `forever` and negative durations are written "forever" and with a leading minus, for people.
HOLDFAST_EXPORT std::string print_duration(duration d);

}  // namespace holdfast
