#pragma once

#include "core/records.hpp"
#include "engines/local/bytes.hpp"

#include <optional>

namespace holdfast::engines::local {

/// \file
/// Records as bytes. The first byte is the format; a reader refuses every other one, every length
/// that does not fit and every byte left over, so that damage is noticed and never guessed at.

/// Longer texts of a record are cut when it is written: they are for people.
inline constexpr std::size_t text_bytes_max = 4096;

/// The part of a session record that decisions need: read without copying any text.
struct session_head {
  core::version at;
  std::uint64_t gate{};
  duration ttl{};
  core::life_place where{};
  wall_time opened{};
  std::int64_t pid{};
};

std::vector<std::byte> encode(const core::session_record& record);
std::optional<session_head> decode_head(bytes value);
std::optional<core::session_record> decode_session(const session_id& id, bytes value);

/// Changes in place what beats and leaves change: the same bytes as encode() of the changed record.
void set_beat(std::span<std::byte> value, std::uint64_t beat);
void set_gate(std::span<std::byte> value, std::uint64_t gate);

/// An entry and the slot of the process that waits for it.
struct stored_entry {
  core::entry what;
  std::uint16_t slot{};
};

/// `full_name` is kept only for names that do not fit into a key; else empty.
std::vector<std::byte> encode(const stored_entry& e, std::string_view full_name);
/// `order` comes from the key.
std::optional<stored_entry> decode_entry(token order, bytes value);
/// The full name kept in an entry; empty for most.
std::string_view name_kept_in(bytes value);

}  // namespace holdfast::engines::local
