#pragma once

#include "core/records.hpp"
#include "core/store_id.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::engines::etcd {

/// \file
/// Values as Protocol Buffers messages. Each begins with its format; a reader refuses every other
/// one, and everything that it cannot read, so that foreign data is noticed and never guessed at.

/// Longer texts of a record are cut when it is written: they are for people.
inline constexpr std::size_t text_bytes_max = 4096;

/// All but id, version, gate and denial, which are elsewhere.
std::string encode(const core::session_record& record);
std::optional<core::session_record> decode_session(std::string_view value);

struct denial_note {
  std::string by{};
  std::string why{};
};
std::string encode(const denial_note& note);
std::optional<denial_note> decode_denial(std::string_view value);

std::string encode_entry(wall_time since);
std::optional<wall_time> decode_entry(std::string_view value);

/// Grows when the cluster is another one than before: a restored backup's revisions begin again
/// where the backup was made.
struct cluster_epoch {
  std::uint64_t number{};
  std::uint64_t cluster{};  ///< etcd's own id of the cluster that it is for.
  core::store_id store{};   ///< The store's identity; a record without one is refused.
};
std::string encode(const cluster_epoch& epoch);
std::optional<cluster_epoch> decode_epoch(std::string_view value);

// A token is the epoch, less one, above the revision in which the entry was created.
inline constexpr unsigned revision_bits = 40;
inline constexpr std::uint64_t epoch_max = std::uint64_t{1} << (53 - revision_bits);

/// Zero when the two do not fit into a token.
token token_of(std::uint64_t epoch, std::int64_t create_revision) noexcept;
std::int64_t revision_of(token order) noexcept;

}  // namespace holdfast::engines::etcd
