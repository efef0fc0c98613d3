#pragma once

#include <holdfast/export.hpp>

#include <compare>
#include <cstdint>

namespace holdfast {

/// The token of a grant: an integer from 1 to 2^53 - 1, the place of the grant in the history of
/// its name. It is a number alone; with the lock and the store that it is of it is a
/// fencing_token. A store that is configured to give none (Redlock with `?tokens=off`) grants
/// with zero.
///
/// An exclusive grant has a larger token than every grant of that name before it, across crashes,
/// restarts and power loss. Shared holders and permits(n) hold at the same time: each has its own
/// token, and all are larger than that of the last exclusive holder before them.
///
/// Send it with every write to what the lock protects, and let the storage refuse a token that is
/// older than the newest it has seen. Only that stops a holder that was paused for longer than
/// its lease, and nothing that a lock service can do (M. Burrows, The Chubby lock service,
/// section 2.4). The upper limit lets every language that reads JSON numbers as doubles carry a
/// token unharmed.
///
/// It does **not** promise to grow by one, nor to start at one. Tokens of different names or of
/// different stores must not be compared.
///
/// Thread safety: as a plain value.
struct token {
  /// Zero is no token: it fences nothing, and no storage may be asked to compare it.
  std::uint64_t value{};
  friend auto operator<=>(const token&, const token&) = default;
};

/// The largest token there is.
inline constexpr token token_max{(std::uint64_t{1} << 53) - 1};

}  // namespace holdfast
