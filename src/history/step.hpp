#pragma once

#include <holdfast/mode.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace holdfast::history {

inline constexpr std::int64_t always = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
inline constexpr std::size_t no_line = std::numeric_limits<std::size_t>::max();

/// What an operation did to the one object it was about, as its outcome shows.
enum class effect : std::uint8_t {
  // of a lock
  grant,      ///< It was granted.
  proof,      ///< It was held, and is held still unless this was the last proof of its grant.
  give_back,  ///< It was held, and is over.
  loss,       ///< It is over, whether it was held or not.
  // of fenced storage
  admitted,  ///< A write or a read was let through.
  refused,   ///< It was refused as stale.
  raised,    ///< Every smaller token is refused from now on; no value was set or read.
};

/// What a register holds: a number for each value that occurs.
using value_number = std::uint32_t;
inline constexpr value_number nothing_written = 0;
/// Some value, but the history does not say which.
inline constexpr value_number unrecorded = 1;

/// One operation on one object, as the search sees it: it takes effect at one moment from `invoked`
/// to `returned`.
struct step {
  effect what{};
  std::int64_t invoked{};
  std::int64_t returned{};  ///< `never`: it may also take effect after the end of the history.
  bool may_be_left_out{};   ///< Nobody knows whether it happened.
  std::uint64_t token{};
  std::size_t line{no_line};  ///< Its index; an assumed grant has none.

  // of a lock
  std::size_t grant{};  ///< Which of the object's grants it is about.

  /// Of a lock: how it was asked for. Of fenced storage: how the token is compared.
  mode how = mode::exclusive();

  // of fenced storage
  bool is_write{};  ///< It sets the value; otherwise it tells it.
  value_number value{};
};

/// Whether every order has it, and its token has to pass.
inline bool must_pass(const step& s) noexcept {
  return s.what == effect::admitted && !s.may_be_left_out && s.token != 0;
}

}  // namespace holdfast::history
