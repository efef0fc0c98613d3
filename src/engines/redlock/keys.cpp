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

std::string free_channel(std::string_view lock) {
  return joined(free_prefix, std::string(everybody).append(":").append(lock));
}

std::string seat_channel(std::string_view lock, unsigned seat) {
  return joined(free_prefix, std::to_string(seat).append(":").append(lock));
}

}  // namespace holdfast::engines::redlock
