#pragma once

#include "fence/log_record.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::fencing {

/// \file
/// The names in a log's directory.

inline constexpr const char* format_file = "format";  ///< Written once, by whoever made the log.
inline constexpr const char* epoch_file = "epoch";    ///< The epoch word; never replaced.

/// Ordinals from here on are of copies, which are written before they are part of the log; the
/// others are written after that.
inline constexpr std::uint32_t first_copy = std::uint32_t{1} << 31;

std::string inline_name(std::uint64_t version);
std::string segment_name(const segment_id& of);
std::string mark_name(const segment_id& of);
/// A segment with bytes behind what a takeover found whole, once no version names it: for people.
std::string cut_name(const segment_id& of);
/// What will be linked to another name when it is complete.
std::string draft_name(const segment_id& of);

std::optional<std::uint64_t> version_in(std::string_view name);
std::optional<segment_id> segment_in(std::string_view name);
std::optional<segment_id> mark_in(std::string_view name);
std::optional<segment_id> cut_in(std::string_view name);
std::optional<segment_id> draft_in(std::string_view name);
/// A draft of the files that a log begins with.
std::string founding_draft(std::string_view of, std::uint64_t random);
bool is_founding_draft(std::string_view name);

}  // namespace holdfast::fencing
