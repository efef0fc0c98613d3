#pragma once

#include <compare>
#include <cstdint>

namespace holdfast {

/// A fencing token: an integer from 1 to 2^53 - 1 that grows with every grant of a name in a store.
///
/// Send it with every write to what the lock protects, and let the storage refuse a token that is
/// older than the newest it has seen. That, and nothing a lock service can do, stops a holder that
/// was paused for longer than its lease (M. Burrows, The Chubby lock service, section 2.4).
/// The limit lets every language that reads JSON numbers as doubles carry a token unharmed.
///
/// It does **not** promise to grow by one, nor to start at one. Tokens of different names or of
/// different stores must not be compared.
struct token {
  std::uint64_t value{};
  friend auto operator<=>(const token&, const token&) = default;
};

/// The largest token there is.
inline constexpr token token_max{(std::uint64_t{1} << 53) - 1};

}  // namespace holdfast
