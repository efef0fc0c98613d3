#include "engines/redlock/keys.hpp"

namespace holdfast::engines::redlock {

namespace {

std::string joined(std::string_view prefix, std::string_view rest) {
  std::string key;
  key.reserve(prefix.size() + rest.size());
  return key.append(prefix).append(rest);
}

}  // namespace

std::string token_key(std::string_view lock) { return joined(token_prefix, lock); }

std::string session_key(std::string_view id) { return joined(session_prefix, id); }

std::string scope_of(unsigned database) {
  return database == 0 ? std::string() : scope_mark + std::to_string(database).append(":");
}

std::string free_channel(std::string_view lock, unsigned database) {
  return joined(free_prefix, scope_of(database).append(everybody).append(":").append(lock));
}

std::string seat_channel(std::string_view lock, unsigned seat, unsigned database) {
  const std::string place = scope_of(database) + std::to_string(seat);
  return joined(free_prefix, place + ":" + std::string(lock));
}

}  // namespace holdfast::engines::redlock
