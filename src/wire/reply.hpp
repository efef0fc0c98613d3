#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::wire {

/// What a server can answer, whichever of the two protocols it speaks.
enum class reply_kind : std::uint8_t {
  null,        ///< RESP3 `_`, RESP2 `$-1` and `*-1`.
  status,      ///< `+OK`
  error,       ///< `-ERR ...` and the blob error `!`; `text` is all of it.
  integer,     ///< `:1`
  text,        ///< A bulk string, or a verbatim string without its three letters of format.
  too_long,    ///< One that was read and not kept; `integer` is how many bytes it had.
  boolean,     ///< `#t`; `integer` is 1 or 0.
  real,        ///< `,1.5`; `number` has it.
  big_number,  ///< `(123...`; `text` has its sign and digits.
  array,       ///< `*`
  map,         ///< `%`; keys and values take turns in `elements`.
  set,         ///< `~`
  push,        ///< `>`: an answer to no request.
};

/// What people call it: "an integer", "an array", ...
const char* name_of(reply_kind kind) noexcept;

/// One answer, owned: it may be kept, moved and copied.
struct reply {
  reply_kind kind{reply_kind::null};
  std::int64_t integer{};
  double number{};
  std::string text{};
  std::vector<reply> elements{};

  bool is(reply_kind k) const noexcept { return kind == k; }
  bool is_null() const noexcept { return kind == reply_kind::null; }
  bool is_ok() const noexcept {
    return kind == reply_kind::status && text.size() == 2 && text[0] == 'O' && text[1] == 'K';
  }

  /// The value beside `key`: in a map, or in the flat array that RESP2 sends for one; else null.
  const reply* find(std::string_view key) const noexcept;

  friend bool operator==(const reply&, const reply&) = default;
};

}  // namespace holdfast::wire
