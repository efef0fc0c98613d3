#pragma once

#include "core/records.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::engines::zookeeper {

/// \file
/// Data of nodes as lines of text, `key value`, for people with ZooKeeper's own tools. The first
/// line is what it is and its format; a reader refuses every other one, and everything that it
/// cannot read, so that foreign data is noticed and never guessed at.

/// Longer texts of a record are cut when it is written: they are for people.
inline constexpr std::size_t text_bytes_max = 4096;

/// All but id, inc, beat and gate, which are elsewhere.
std::string encode(const core::session_record& record);
std::optional<core::session_record> decode_session(std::string_view data);

std::string encode_entry(wall_time since);
std::optional<wall_time> decode_entry(std::string_view data);

/// What the node `s` of a store has as its data.
inline constexpr std::string_view store_format = "holdfast-store 1\n";

/// Zero when the transaction's number does not fit into a token.
token token_of(std::int64_t transaction) noexcept;

}  // namespace holdfast::engines::zookeeper
