#include "engines/local/keys.hpp"

#include "core/fnv1a.hpp"
#include "engines/local/codec.hpp"

namespace holdfast::engines::local {
namespace {

constexpr std::size_t hash_bytes = 16;
constexpr std::size_t beginning_bytes = name_in_key_max - hash_bytes;

}  // namespace

key session_key(const session_id& id) {
  key k;
  k.add(static_cast<std::uint8_t>(sessions_begin));
  k.add(std::as_bytes(std::span(id.bytes)));
  return k;
}

key queue_prefix(const lock_name& name) {
  const std::string_view text = name.str();
  key k;
  k.add(static_cast<std::uint8_t>(entries_begin));
  k.add_big_endian(text.size(), 2);
  if (!is_long(name)) {
    k.add(bytes_of(text));
    return k;
  }
  k.add(bytes_of(text.substr(0, beginning_bytes)));
  // They only spread the keys: names are compared in full when they are read.
  k.add_big_endian(core::fnv1a(text), 8);
  k.add_big_endian(core::fnv1a(text, 0x9e3779b97f4a7c15U), 8);
  return k;
}

key entry_key(const key& prefix, token order) {
  key k = prefix;
  k.add_big_endian(order.value, 8);
  return k;
}

key own_key(std::string_view text) {
  key k;
  k.add('M');
  k.add(bytes_of(text));
  return k;
}

std::optional<session_id> parse_session_key(bytes k) {
  session_id id;
  if (k.size() != 1 + id.bytes.size() || k[0] != sessions_begin) return {};
  std::memcpy(id.bytes.data(), k.data() + 1, id.bytes.size());
  return id;
}

token order_in(bytes k) {
  if (k.size() < 8) return {};
  token t;
  for (const std::byte b : k.last(8)) t.value = t.value << 8 | static_cast<std::uint64_t>(b);
  return t;
}

std::optional<lock_name> name_of_entry(bytes k, bytes value) {
  if (k.size() < 1 + 2 + 8 || k[0] != entries_begin) return {};
  const auto size = static_cast<std::size_t>(k[1]) << 8 | static_cast<std::size_t>(k[2]);
  if (size <= name_in_key_max) {
    if (k.size() != 1 + 2 + size + 8) return {};
    return lock_name(text_of(k.subspan(3, size)));
  }
  const std::string_view kept = name_kept_in(value);
  if (k.size() != key_bytes_max || kept.size() != size) return {};
  return lock_name(std::string(kept));
}

}  // namespace holdfast::engines::local
