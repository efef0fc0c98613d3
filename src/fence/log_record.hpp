#pragma once

#include "fence/log_epoch.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace holdfast::fencing {

/// \file
/// A record in a segment: checksum (8 bytes), length with the highest bit set (4), payload; numbers
/// are little-endian. The checksum covers the payload, its length, the record's number and the
/// segment's identity, so that neither zeros, nor blocks of an older file, nor a record at another
/// place is taken for it.

inline constexpr std::size_t record_head_bytes = 12;
/// The longest payload.
inline constexpr std::size_t record_bytes_max = std::size_t{1} << 24;

/// Which segment: the epoch of its writer, and which of that writer's.
struct segment_id {
  log_epoch of;
  std::uint32_t ordinal{};
  friend auto operator<=>(const segment_id&, const segment_id&) = default;
};

/// Writes a record to the beginning of `to`, which has room for its head and payload; its bytes.
std::size_t encode_record(std::span<std::byte> to, std::span<const std::byte> payload,
                          const segment_id& in, std::uint64_t number) noexcept;
/// Appends a record to `out`.
void encode_record(std::vector<std::byte>& out, std::span<const std::byte> payload,
                   const segment_id& in, std::uint64_t number);

/// What stands at a place where record `number` would begin.
struct record_there {
  enum class state : std::uint8_t { whole, torn } is{state::torn};
  std::size_t bytes{};  ///< With its head. When torn: what the head claims, or zero.
  std::span<const std::byte> payload{};
};
record_there decode_record(std::span<const std::byte> at, const segment_id& in,
                           std::uint64_t number);

/// Of anything that is stored beside the records.
std::uint64_t checksum_of(std::span<const std::byte> bytes);

}  // namespace holdfast::fencing
