#pragma once

#include "core/records.hpp"
#include "engines/local/bytes.hpp"

#include <array>
#include <optional>

namespace holdfast::engines::local {

/// \file
/// Keys of the one table, so that one cursor walks what belongs together in order:
///
/// | key                                   | value                                     |
/// |---------------------------------------|-------------------------------------------|
/// | `M` text                              | a number of the store itself              |
/// | `Q` size:16 name order:64 (big endian)| an entry, in order of arrival within name |
/// | `S` session id                        | a session record                          |

/// LMDB's limit, compiled into it (mdb_env_get_maxkeysize).
inline constexpr std::size_t key_bytes_max = 511;
/// A longer name is represented by its size, its beginning and a hash; the entry keeps all of it
/// and is compared when it is read, so that two names with one key stay two queues.
inline constexpr std::size_t name_in_key_max = key_bytes_max - 1 - 2 - 8;

/// A key in place, without an allocation.
class key {
 public:
  bytes view() const noexcept { return {data_.data(), size_}; }
  void add(std::uint8_t value) { data_[size_++] = static_cast<std::byte>(value); }
  void add(bytes part) {
    std::memcpy(data_.data() + size_, part.data(), part.size());
    size_ += part.size();
  }
  void add_big_endian(std::uint64_t value, int width) {
    for (int i = width - 1; i >= 0; --i) add(static_cast<std::uint8_t>(value >> (8 * i)));
  }

 private:
  std::array<std::byte, key_bytes_max> data_;
  std::size_t size_{};
};

key session_key(const session_id& id);
/// What all entries of a name begin with.
key queue_prefix(const lock_name& name);
key entry_key(const key& prefix, token order);
key own_key(std::string_view text);

/// Prefixes of all sessions and of all entries.
inline constexpr std::byte sessions_begin{'S'};
inline constexpr std::byte entries_begin{'Q'};

std::optional<session_id> parse_session_key(bytes k);
/// The order at the end of an entry's key; zero when it is too short.
token order_in(bytes k);
/// The name of an entry; nothing when key and value do not belong together.
std::optional<lock_name> name_of_entry(bytes k, bytes value);

/// True when the whole name has to be kept in the entry.
inline bool is_long(const lock_name& name) { return name.str().size() > name_in_key_max; }

}  // namespace holdfast::engines::local
