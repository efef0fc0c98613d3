#pragma once

#include "fence/log_record.hpp"

#include <holdfast/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::fencing {

/// A segment whose length is fixed for ever.
struct sealed_segment {
  segment_id id;
  std::uint64_t first{};    ///< The number of its first record.
  std::uint64_t records{};  ///< At least one.
  std::uint64_t bytes{};    ///< What lies behind them in the file was never acknowledged.

  std::uint64_t end() const noexcept { return first + records; }
  friend bool operator==(const sealed_segment&, const sealed_segment&) = default;
};

/// One version of the inline file: which segments are the log, and who appends.
struct log_inline {
  std::uint64_t version{};  ///< Zero: no inline file was ever linked.
  log_epoch owner{};        ///< Whose version it is.
  std::vector<sealed_segment> sealed{};
  std::uint64_t next{1};                ///< The number of the first record behind the sealed ones.
  std::optional<std::uint32_t> open{};  ///< The owner's segment that grows; nothing: none does.

  /// The number of the oldest record that was not discarded.
  std::uint64_t first() const noexcept { return sealed.empty() ? next : sealed.front().first; }
  std::optional<segment_id> open_segment() const noexcept {
    return open ? std::optional(segment_id{owner, *open}) : std::nullopt;
  }
  friend bool operator==(const log_inline&, const log_inline&) = default;
};

/// As text: lines, the last one a checksum of those before.
std::string encode_inline(const log_inline& v);
/// Reads what encode_inline() wrote, and nothing else. `damaged` says what is wrong; `unsupported`
/// for the format of a newer version. `name` is for the message.
result<log_inline> decode_inline(std::string_view text, std::string_view name);

/// The same for the format file: which lock's tokens the log compares, as token_source::str().
std::string encode_format(std::string_view source);
result<std::string> decode_format(std::string_view text, std::string_view name);

/// No inline file is longer.
inline constexpr std::size_t inline_bytes_max = std::size_t{1} << 24;
/// A log with as many sealed segments takes no records: each takeover adds one that holds any. So
/// its inline file, with lines of 105 bytes at most, stays one that can be read, and the log one
/// that can be opened to merge or discard them.
inline constexpr std::size_t segments_max = 150'000;

}  // namespace holdfast::fencing
