#pragma once

#include "fence/floor_keeper.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::fencing {

/// \file
/// A floor file, version 1: a header page, then for each resource two equal copies of its record,
/// each in a page of its own. Numbers are little endian.
///
/// | page   | content                                                                   |
/// |--------|---------------------------------------------------------------------------|
/// | 0      | `format_text`, zeros; at `stop_offset` zeros, or a boot id and why nobody |
/// |        | may trust the file in that boot                                           |
/// | 1 + 2i | the record of resource i                                                  |
/// | 2 + 2i | the same again                                                            |
///
/// A record: magic (8), its page's number (8), floor (8), newest (8), the sizes of three texts (2
/// each), resource, lock, store, CRC-32 of all before it (4). Lock and store are empty as long as
/// no token has named them.

inline constexpr std::size_t page_bytes = 4096;
inline constexpr std::size_t stop_offset = 512;
inline constexpr std::size_t stop_bytes = 512;
inline constexpr std::string_view format_magic = "holdfast fence floors\n";
inline constexpr std::string_view format_text = "holdfast fence floors\nversion 1\n";

using page = std::array<std::byte, page_bytes>;
using page_view = std::span<const std::byte>;

struct stored_record {
  std::string resource{};
  floor_record kept{};
  friend bool operator==(const stored_record&, const stored_record&) = default;
};

/// `number` is the page's own: a page that was copied to another place is damage.
page encode(const stored_record& r, std::uint64_t number);
/// Nothing when it is not a record of this page, whole and in range.
std::optional<stored_record> decode(page_view data, std::uint64_t number);

bool is_blank(page_view data) noexcept;

/// What the two copies of one record say together.
struct copies {
  enum class state : std::uint8_t {
    equal,      ///< Both are there and say the same: it is on the disk.
    one_ahead,  ///< A change was under way; `what` has the higher floors.
    one_torn,   ///< A change was under way, or one copy went bad; `what` is the other.
    blank,      ///< Neither was ever written whole.
    damaged,    ///< Neither can be read.
  };
  state is{state::blank};
  stored_record what{};
  bool first_is_whole{};
};
/// The first copy is written and synced before the second one is touched, so that at every moment
/// one of them is whole. `last`: nothing is behind it in the file, so that it may be one that was
/// just being made. `number` is that of the first page.
copies read_copies(page_view first, page_view second, std::uint64_t number, bool last);

}  // namespace holdfast::fencing
